"""Images from anywhere: npz, class folders, zips, the layouts of torchvision and medmnist."""

from pillar_core.data.images.candidates import load_candidate
from pillar_core.data.images.loading import checked_images, load_images, read_images

__all__ = ["checked_images", "load_candidate", "load_images", "read_images"]
