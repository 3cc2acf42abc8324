"""What is known of torchvision's data sets: rows, classes, licence, size, where to get them, and which papers use them."""

from __future__ import annotations

import dataclasses

from pillar_core.data.cards import Count


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a card says of one set, and where its files are got by hand."""

    title: str
    source: str
    licence: str
    rows: tuple[str, str]
    n_classes: str
    d: str
    size: str
    by_hand: str
    papers: tuple[str, ...] = ()
    can_fetch: bool = True


RESEARCH = "not stated; for research"
KRIZHEVSKY = "A. Krizhevsky: Learning multiple layers of features from tiny images, 2009"
FACTS = {
    "cifar10": Facts(
        "CIFAR-10",
        KRIZHEVSKY,
        RESEARCH,
        (Count(50_000), Count(10_000)),
        Count(10),
        Count(3_072, "32 × 32 pixels, colour"),
        "163 MB",
        "unpack cifar-10-python.tar.gz from cs.toronto.edu/~kriz/cifar.html, so that cifar-10-batches-py lies there.",
        ("PILLAR", "Semi-private learning", "GSD"),
    ),
    "cifar100": Facts(
        "CIFAR-100",
        KRIZHEVSKY,
        RESEARCH,
        (Count(50_000), Count(10_000)),
        Count(100),
        Count(3_072, "32 × 32 pixels, colour"),
        "161 MB",
        "unpack cifar-100-python.tar.gz from cs.toronto.edu/~kriz/cifar.html, so that cifar-100-python lies there.",
        ("PILLAR", "Semi-private learning", "GSD"),
    ),
    "gtsrb": Facts(
        "GTSRB (German traffic signs)",
        "J. Stallkamp, M. Schlipsing, J. Salmen, C. Igel: IJCNN 2011",
        RESEARCH,
        (Count(26_640), Count(12_630)),
        Count(43),
        "15 to 250 pixels a side, colour (one median size)",
        "276 MB",
        "unpack GTSRB-Training_fixed.zip, GTSRB_Final_Test_Images.zip and GTSRB_Final_Test_GT.zip from benchmark.ini.rub.de into gtsrb.",
        ("PILLAR",),
    ),
    "flowers102": Facts(
        "Oxford Flowers 102",
        "M.-E. Nilsback, A. Zisserman: ICVGIP 2008",
        RESEARCH,
        (Count(2_040), Count(6_149)),
        Count(102),
        "photographs (shorter side at most 256)",
        "345 MB",
        "102flowers.tgz (unpacked), imagelabels.mat and setid.mat from robots.ox.ac.uk/~vgg/data/flowers/102 into flowers-102.",
        ("AdaMix", "GSD"),
    ),
    "pcam": Facts(
        "PatchCamelyon (PCAM)",
        "B. Veeling, J. Linmans, J. Winkens, T. Cohen, M. Welling: MICCAI 2018",
        "CC0 1.0",
        (Count(262_144), Count(32_768)),
        Count(2),
        Count(27_648, "96 × 96 pixels, colour"),
        "6.3 GB",
        "the train and test files camelyonpatch_level_2_split_*.h5 (unpacked) from github.com/basveeling/pcam into pcam.",
        ("PILLAR",),
    ),
    "svhn": Facts(
        "SVHN (house numbers)",
        "Y. Netzer, T. Wang, A. Coates, A. Bissacco, B. Wu, A. Ng: 2011",
        "non-commercial use",
        (Count(73_257), Count(26_032)),
        Count(10),
        Count(3_072, "32 × 32 pixels, colour"),
        "235 MB",
        "train_32x32.mat and test_32x32.mat from ufldl.stanford.edu/housenumbers.",
        ("GSD",),
    ),
    "mnist": Facts(
        "MNIST",
        "Y. LeCun, C. Cortes, C. Burges: 1998",
        "CC BY-SA 3.0",
        (Count(60_000), Count(10_000)),
        Count(10),
        Count(784, "28 × 28 pixels"),
        "11 MB",
        "the four idx files, unpacked, into MNIST/raw.",
        ("PILLAR", "GSD"),
    ),
    "fashionmnist": Facts(
        "Fashion-MNIST",
        "H. Xiao, K. Rasul, R. Vollgraf: 2017",
        "MIT",
        (Count(60_000), Count(10_000)),
        Count(10),
        Count(784, "28 × 28 pixels"),
        "31 MB",
        "the four idx files from github.com/zalandoresearch/fashion-mnist, unpacked, into FashionMNIST/raw.",
        ("GSD",),
    ),
    "oxfordiiitpet": Facts(
        "Oxford-IIIT Pets",
        "O. Parkhi, A. Vedaldi, A. Zisserman, C. V. Jawahar: CVPR 2012",
        "CC BY-SA 4.0",
        (Count(3_680), Count(3_669)),
        Count(37),
        "photographs (shorter side at most 256)",
        "811 MB",
        "images.tar.gz and annotations.tar.gz from robots.ox.ac.uk/~vgg/data/pets, unpacked, into oxford-iiit-pet.",
        ("AdaMix",),
    ),
    "caltech256": Facts(
        "Caltech-256",
        "G. Griffin, A. Holub, P. Perona: 2007",
        "CC BY 4.0",
        ("four fifths of 29,780", "a fifth"),
        Count(256, "without clutter"),
        "photographs (shorter side at most 256)",
        "1.2 GB",
        "256_ObjectCategories.tar from data.caltech.edu/records/nyy15-4j048, unpacked, into caltech256.",
        ("AdaMix",),
    ),
    "kmnist": Facts(
        "Kuzushiji-MNIST",
        "T. Clanuwat et al.: 2018",
        "CC BY-SA 4.0",
        (Count(60_000), Count(10_000)),
        Count(10),
        Count(784, "28 × 28 pixels"),
        "21 MB",
        "the four idx files from codh.rois.ac.jp/kmnist, unpacked, into KMNIST/raw.",
    ),
    "stl10": Facts(
        "STL-10",
        "A. Coates, H. Lee, A. Ng: AISTATS 2011",
        RESEARCH,
        (Count(5_000), Count(8_000)),
        Count(10),
        Count(27_648, "96 × 96 pixels, colour"),
        "2.6 GB",
        "stl10_binary.tar.gz from ai.stanford.edu/~acoates/stl10, unpacked, so that stl10_binary lies there.",
    ),
    "usps": Facts(
        "USPS digits",
        "J. Hull: PAMI 1994",
        RESEARCH,
        (Count(7_291), Count(2_007)),
        Count(10),
        Count(256, "16 × 16 pixels"),
        "9 MB",
        "usps.bz2 and usps.t.bz2 from csie.ntu.edu.tw/~cjlin/libsvmtools/datasets.",
    ),
    "dtd": Facts(
        "Describable textures (DTD)",
        "M. Cimpoi et al.: CVPR 2014",
        RESEARCH,
        (Count(3_760), Count(1_880)),
        Count(47),
        "photographs (shorter side at most 256)",
        "600 MB",
        "dtd-r1.0.1.tar.gz from robots.ox.ac.uk/~vgg/data/dtd, unpacked, into dtd.",
    ),
    "food101": Facts(
        "Food-101",
        "L. Bossard, M. Guillaumin, L. Van Gool: ECCV 2014",
        RESEARCH,
        (Count(75_750), Count(25_250)),
        Count(101),
        "photographs (shorter side at most 256)",
        "4.7 GB",
        "food-101.tar.gz from data.vision.ee.ethz.ch, unpacked, so that food-101 lies there.",
    ),
    "fgvcaircraft": Facts(
        "FGVC Aircraft",
        "S. Maji et al.: 2013",
        "non-commercial use",
        (Count(6_667), Count(3_333)),
        Count(100),
        "photographs (shorter side at most 256)",
        "2.6 GB",
        "fgvc-aircraft-2013b.tar.gz from robots.ox.ac.uk/~vgg/data/fgvc-aircraft, unpacked.",
    ),
    "stanfordcars": Facts(
        "Stanford Cars",
        "J. Krause, M. Stark, J. Deng, L. Fei-Fei: 2013",
        RESEARCH,
        (Count(8_144), Count(8_041)),
        Count(196),
        "photographs (shorter side at most 256)",
        "1.9 GB",
        "cars_train, cars_test, devkit and cars_test_annos_withlabels.mat into stanford_cars; its original place is gone.",
        can_fetch=False,
    ),
    "caltech101": Facts(
        "Caltech-101",
        "L. Fei-Fei, R. Fergus, P. Perona: 2004",
        "CC BY 4.0",
        ("four fifths of 8,677", "a fifth"),
        Count(101),
        "photographs (shorter side at most 256)",
        "137 MB",
        "101_ObjectCategories from data.caltech.edu, unpacked, into caltech101.",
    ),
    "eurosat": Facts(
        "EuroSAT",
        "P. Helber, B. Bischke, A. Dengel, D. Borth: 2019",
        "MIT",
        (Count(21_600), Count(5_400)),
        Count(10),
        Count(12_288, "64 × 64 pixels, colour"),
        "94 MB",
        "EuroSAT.zip from github.com/phelber/EuroSAT, unpacked, into eurosat.",
    ),
}
