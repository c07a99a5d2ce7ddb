"""The five classification sets of the NIPS 2003 challenge, the paper's Table 3."""

from __future__ import annotations

from .records import Dataset, File, Form, prepared

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

CHALLENGE_TERMS = "UCI Machine Learning Repository, which states CC BY 4.0 (not re-checked)."
CHALLENGE_NOTE = (
    "OpenML id and UCI addresses were found in public code, not opened; no published "
    "checksums of the files were found. The values are compared with a verified copy instead."
)


def _challenge_forms(name: str, reader: str, openml: int) -> tuple[Form, ...]:
    """OpenML's copy and the challenge's text files, where UCI keeps them."""
    folder = f"{UCI}/{name}"
    inside = ("train.data", "train.labels", "valid.data")
    files = [File(f"{name}_{part}", f"{folder}/{name.upper()}/{name}_{part}") for part in inside]
    files.append(File(f"{name}_valid.labels", f"{folder}/{name}_valid.labels"))
    stored = (File(f"{name}_openml.npz"),)
    return Form("stored", stored, openml=openml), Form(reader, tuple(files))


ARCENE = Dataset(
    name="arcene",
    title="Arcene",
    domain="Mass spec.",
    task="classification",
    kind="dense",
    features=10_000,
    samples=200,
    parts=(100, 100, 700),
    content="7d2d08237da19334f5af9f92d478c160b4e7753ab925475f538fa9ab9ae4da92",
    forms=(
        Form(
            "dense_npz",
            (
                prepared(
                    "arcene.npz",
                    "20097987d38262f047eefbfd655e7669c823d246e8dda86cfa82dd0ec8350226",
                    1_854_281,
                ),
            ),
        ),
        *_challenge_forms("arcene", "dense_text", 1458),
    ),
    source="NIPS 2003 feature selection challenge: cancer against normal mass spectra.",
    terms=CHALLENGE_TERMS,
    note=CHALLENGE_NOTE,
)

DEXTER = Dataset(
    name="dexter",
    title="Dexter",
    domain="Text categ.",
    task="classification",
    kind="sparse",
    features=20_000,
    samples=600,
    parts=(300, 300, 2000),
    content="888e086d599e46c14ed29a327b5edbd0f1f69aaf3284f3e66adfb50c02e745a5",
    forms=(
        Form(
            "sparse_npz",
            (
                prepared(
                    "dexter_X.npz",
                    "3683bb17cff5647163046f24435fec77c57bcb48012c96ede166d7078db84b29",
                    177_196,
                ),
                prepared(
                    "dexter_y.npy",
                    "b3d8387300d858d6dacf60d54060f8fa271356d6c1abb203a99c901bf554a3c3",
                    728,
                ),
                prepared(
                    "dexter_split.npy",
                    "8036b3c6d7ac718a464d4fc8c06c22f59cbfebc3a52da7425c230ebb5605a1c2",
                    728,
                ),
            ),
        ),
        *_challenge_forms("dexter", "sparse_text", 4136),
    ),
    source="NIPS 2003 feature selection challenge: Reuters texts on corporate acquisitions.",
    terms=CHALLENGE_TERMS,
    note=CHALLENGE_NOTE,
)

DOROTHEA = Dataset(
    name="dorothea",
    title="Dorothea",
    domain="Drug discov.",
    task="classification",
    kind="sparse binary",
    features=100_000,
    samples=1150,
    parts=(800, 350, 800),
    content="81a3547885545256d78c144a7cd4dbb5d9c424fc72449c9ad455a1f7085945f2",
    forms=(
        Form(
            "sparse_npz",
            (
                prepared(
                    "dorothea_X.npz",
                    "e67e89b430f470b54992b1edfd63400cbf88505d26f39471f74c278e83471147",
                    2_199_383,
                ),
                prepared(
                    "dorothea_y.npy",
                    "19de70dc720cd973b3994f64b378039327e4c66994dac0f1b761769262e79d49",
                    1278,
                ),
                prepared(
                    "dorothea_split.npy",
                    "628aa8df92e6d821f7283a9375b9f88934d147a4837f99fbdaab497cd2668588",
                    1278,
                ),
            ),
        ),
        *_challenge_forms("dorothea", "binary_text", 4137),
    ),
    source="NIPS 2003 feature selection challenge: compounds that bind to thrombin.",
    terms=CHALLENGE_TERMS + " DuPont and the KDD Cup 2001 ask for acknowledgement.",
    note=CHALLENGE_NOTE,
)

GISETTE = Dataset(
    name="gisette",
    title="Gisette",
    domain="Digit recog.",
    task="classification",
    kind="dense",
    features=5000,
    samples=7000,
    parts=(6000, 1000, 6500),
    classes=(3500, 3500),
    levels=(0, 999),
    forms=_challenge_forms("gisette", "dense_text", 41026),
    source="NIPS 2003 feature selection challenge: handwritten 4 against 9.",
    terms=CHALLENGE_TERMS,
    note="OpenML id and UCI addresses were found in public code, not opened; no published "
    "checksums were found and no copy was at hand: shape, class counts and range 0..999 are "
    "checked.",
)

MADELON = Dataset(
    name="madelon",
    title="Madelon",
    domain="Artificial data",
    task="classification",
    kind="dense",
    features=500,
    samples=2600,
    parts=(2000, 600, 1800),
    content="e2060012d21536e9db1299f30bc24d4e11a27f3b6c169fc91a55a703e145ea15",
    forms=(
        Form(
            "dense_npz",
            (
                prepared(
                    "madelon.npz",
                    "f0a2b1109d427376595e2d7c659f518b6a7c6d23c22463864412dfb363564e76",
                    1_445_513,
                ),
            ),
        ),
        *_challenge_forms("madelon", "dense_text", 1485),
    ),
    source="NIPS 2003 feature selection challenge: generated by its organisers, 20 of 500 "
    "features carry the class.",
    terms=CHALLENGE_TERMS,
    note=CHALLENGE_NOTE,
)
