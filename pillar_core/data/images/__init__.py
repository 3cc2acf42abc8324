"""Images from anywhere: npz, class folders, zips, the layouts of torchvision and medmnist."""
