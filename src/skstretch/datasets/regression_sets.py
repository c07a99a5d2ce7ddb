"""The five regression sets of the paper's Table 2."""

from __future__ import annotations

from .records import Dataset, File, Form, prepared

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression"


def _corn_forms(instrument: str, sha256: str, size: int) -> tuple[Form, ...]:
    ours = prepared(f"corn_{instrument}.npz", sha256, size)
    archive = File(
        "corn.mat_.zip",
        "https://eigenvector.com/wp-content/uploads/2019/06/corn.mat_.zip",
        "8a2d1a03648b6ad334caaafa5d8377bf945ba1477a5082c4963d705d07cca795",
        1_094_488,
    )
    return Form("corn_npz", (ours,)), Form("corn_mat", (archive,), argument=instrument)


def _corn(instrument: str, sha256: str, size: int, content: str) -> Dataset:
    return Dataset(
        name="corn" if instrument == "m5" else f"corn_{instrument}",
        title="Corn" if instrument == "m5" else f"Corn ({instrument})",
        domain="Spectrometry",
        task="regression",
        kind="dense",
        features=700,
        samples=80,
        content=content,
        forms=_corn_forms(instrument, sha256, size),
        source="NIR of corn samples, Cargill, distributed by Eigenvector Research; the target is "
        "moisture, as in the paper.",
        terms="Publicly posted, no explicit licence.",
        note="The checksum of corn.mat_.zip is the one that several public projects pin; the "
        "address was not opened.",
    )


PROSTATE = Dataset(
    name="prostate",
    title="Prostate",
    domain="Medical",
    task="regression",
    kind="dense",
    features=8,
    samples=97,
    content="6c94521c3278b3b908368c12bc05a543ae38e2bd784d13f590a6c188fa1409ea",
    forms=(
        Form(
            "dense_npz",
            (
                prepared(
                    "prostate.npz",
                    "e4e56c2ddac2678630bdd65a74df6ff134a9f0c15465f584aa6cdba4b88fd450",
                    4182,
                ),
            ),
        ),
        Form(
            "prostate_text",
            (
                File(
                    "prostate.data",
                    "https://hastie.su.domains/ElemStatLearn/datasets/prostate.data",
                ),
            ),
        ),
    ),
    source="Stamey et al. 1989, as in Hastie, Tibshirani and Friedman, The Elements of "
    "Statistical Learning, with the corrected weight of patient 32.",
    terms="No separate data terms; the R package ElemStatLearn that carries it is GPL >= 2.",
    note="The address of prostate.data was found in public code, not opened, and has no published "
    "checksum. The values are compared with a verified copy instead.",
)

DIABETES = Dataset(
    name="diabetes",
    title="Diabetes",
    domain="Medical",
    task="regression",
    kind="dense",
    features=10,
    samples=442,
    content="64803347b9d9d3d40ac7cf261c24a4911dbfb6025c372eb2f4a685d6e3e5068c",
    forms=(
        Form(
            "dense_npz",
            (
                prepared(
                    "diabetes.npz",
                    "935f9c8e796153f8f6d42aa0c5bf313979f1c80726d09c2b852df9f91bcafbd2",
                    10785,
                ),
            ),
        ),
    ),
    source="Efron et al. 2004, raw features, from scikit-learn's load_diabetes(scaled=False).",
    terms="Comes with scikit-learn (BSD-3-Clause).",
)

CORN = _corn(
    "m5",
    "bd5a4c792f47d42abcff73f238857402e0125d046d2b65a3c6fb9b6da9c038f6",
    341_943,
    "fc28d1481409046c0d336b609fc1a3fd18a3e55b8a00ea71f257c72d85f74cc4",
)
CORN_MP5 = _corn(
    "mp5",
    "f2897ac651f46f3346e906d5a7fca555184a716aab60db1ba8be7764975304f4",
    347_033,
    "9964cf3119518e093080c5fc11b20860c0156ac405d3979371105fd2cfcb995a",
)
CORN_MP6 = _corn(
    "mp6",
    "15193828e6f3a96e29b464323b25537a163178c371e7855f092ffff8534d1e14",
    346_616,
    "a3350fea0394d4f6d0b6f1a1d28a7c52753ea4376add2bcf89c5d35b574265f5",
)

TFIDF = Dataset(
    name="tfidf",
    title="TFIDF",
    domain="Text",
    task="regression",
    kind="sparse",
    features=150_360,
    samples=3308,
    forms=(
        Form("tfidf_text", (File("E2006.test.bz2", f"{LIBSVM}/E2006.test.bz2"),)),
        Form("tfidf_text", (File("E2006.test"),)),
    ),
    source="E2006-TFIDF (Kogan et al. 2009: volatility from 10-K reports), LIBSVM data sets; the "
    "paper uses the test part.",
    terms="No explicit terms at the source.",
    note="The addresses were found in public code, not opened, and have no published checksums: "
    "only the shape of what arrives is checked.",
)
TFIDF_TRAIN = Dataset(
    name="tfidf_train",
    title="TFIDF (training part)",
    domain="Text",
    task="regression",
    kind="sparse",
    features=150_360,
    samples=16_087,
    forms=(
        Form("tfidf_text", (File("E2006.train.bz2", f"{LIBSVM}/E2006.train.bz2"),)),
        Form("tfidf_text", (File("E2006.train"),)),
    ),
    source=TFIDF.source,
    terms=TFIDF.terms,
    note=TFIDF.note,
)

GAZE = Dataset(
    name="gaze",
    title="Gaze",
    domain="Image",
    task="regression",
    kind="dense",
    features=1_200_000,
    samples=1960,
    forms=(
        Form("gaze", (File("Columbia Gaze Data Set"),)),
        Form("gaze", (File("columbia_gaze_data_set"),)),
        Form(
            "gaze",
            (
                File(
                    "columbia_gaze_data_set.zip",
                    "https://www.cs.columbia.edu/CAVE/databases/columbia_gaze/"
                    "columbia_gaze_data_set.zip",
                ),
            ),
        ),
    ),
    source="Columbia Gaze Data Set (Smith et al., UIST 2013), horizontal gaze angle in radians.",
    terms="For non-commercial use only; cite Smith et al. 2013.",
    note="The address was found in public code, not opened (2.2 GB; the authors may ask for a "
    "form to be filled in), and has no published checksum: the number of images and their sizes "
    "are checked. The paper does not say which third of the 5,880 images it uses nor where it "
    "crops; taken here are the 1,960 images with vertical gaze 0 and the central "
    "1,200 x 1,000 pixels.",
)
