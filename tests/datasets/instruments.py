"""Files of spectrometers, written from the published descriptions of their formats.

Nothing here comes from the packages that read them, except the description of OPUS, which only
brukeropus gives: its files are no proof that an instrument writes them so.
"""

import struct
from itertools import pairwise

import numpy as np

# ASDF, the compressed forms of JCAMP-DX 4.24: a letter is delimiter, sign and first digit in one.
SQUEEZED = dict(zip([*range(10), *range(-1, -10, -1)], "@ABCDEFGHIabcdefghi", strict=True))
DIFFERENCE = dict(zip([*range(10), *range(-1, -10, -1)], "%JKLMNOPQRjklmnopqr", strict=True))
REPEATED = dict(enumerate("STUVWXYZs", 1))


def letters(number, table):
    digits = str(abs(number))
    return table[int(digits[0]) * (-1 if number < 0 else 1)] + digits[1:]


def without_repeats(tokens):
    """Tokens in a row, a run of n equal ones as the token and a letter for n."""
    text, start = "", 0
    while start < len(tokens):
        stop = start
        while stop < len(tokens) and tokens[stop] == tokens[start]:
            stop += 1
        text += tokens[start] + (REPEATED[stop - start] if stop - start > 1 else "")
        start = stop
    return text


def jcamp_lines(x, numbers, form, width=8):
    """The table of a JCAMP-DX file, ``(X++(Y..Y))``; `numbers` are whole."""
    for start in range(0, len(numbers), width):
        row = list(numbers[start : start + width])
        first = x[start]
        if form in ("DIF", "DIFDUP"):
            if start:  # the last value of a line is repeated at the next, to check the sum
                row.insert(0, numbers[start - 1])
                first = x[start - 1]
            steps = [letters(b - a, DIFFERENCE) for a, b in pairwise(row)]
            packed = without_repeats(steps) if form == "DIFDUP" else "".join(steps)
            body = letters(row[0], SQUEEZED) + packed
        elif form == "SQZ":
            body = "".join(letters(number, SQUEEZED) for number in row)
        elif form == "SQZDUP":
            body = without_repeats([letters(number, SQUEEZED) for number in row])
        elif form == "PAC":
            body = "".join(f"{number:+d}" for number in row)
        else:
            body = " " + " ".join(map(str, row))
        yield f"{first:.10g}{body}"


def jcamp(x, numbers, form="AFFN", factor=0.001, units=("1/CM", "ABSORBANCE")):
    """A JCAMP-DX file of ``factor * numbers`` over an even axis."""
    head = {
        "TITLE": "made by a test",
        "JCAMP-DX": "4.24",
        "DATA TYPE": "INFRARED SPECTRUM",
        "XUNITS": units[0],
        "YUNITS": units[1],
        "FIRSTX": x[0],
        "LASTX": x[-1],
        "NPOINTS": len(x),
        "XFACTOR": 1.0,
        "YFACTOR": factor,
        "XYDATA": "(X++(Y..Y))",
    }
    lines = [f"##{key}={value}" for key, value in head.items()]
    return "\n".join([*lines, *jcamp_lines(x, numbers, form), "##END="]) + "\n"


def spc(x, Y, *, even=True, exponent=-128, bits=32, sub_exponent=None, units=(1, 2)):
    """A file of the form "new SPC", bytes in the order of Intel: 512 of header, then subfiles.

    exponent -128 stores float32; else integers n of `bits` bits for the value
    ``n * 2**(exponent - bits)``.
    """
    flags = (bits == 16) * 0x01 | (len(Y) > 1) * 0x04 | (not even) * 0x80
    head = struct.pack(
        "<BBBbIddIBBBB", flags, 0x4B, 0, exponent, len(x), x[0], x[-1], len(Y), *units, 0, 0
    )
    content = head.ljust(512, b"\0")
    content += b"" if even else np.asarray(x, "<f4").tobytes()
    below = exponent if sub_exponent is None else sub_exponent
    for number, y in enumerate(np.atleast_2d(Y)):
        content += struct.pack("<BbHfffIIf4x", 0, below, number, number, number + 1, 0, 0, 0, 0)
        if exponent == -128:
            content += np.asarray(y, "<f4").tobytes()
        else:
            content += np.rint(y / 2.0 ** (exponent - bits)).astype(f"<i{bits // 8}").tobytes()
    return content


def opus(x, blocks, *, scale=1.0, form=1):
    """An OPUS file with some blocks of float32: a key of `OPUS_TYPES` -> values over the axis x."""
    parts = []
    for key, y in blocks.items():
        kind = OPUS_TYPES[key]
        values = (np.asarray(y) / scale).astype("<f4")
        status = opus_parameters(
            DPF=form, NPT=len(x), FXV=float(x[0]), LXV=float(x[-1]), CSF=scale, DXU="WN"
        )
        parts += [(kind | 1 << 4, status), (kind, values.tobytes())]
    start = 24 + 12 * (len(parts) + 1)
    directory = struct.pack("<3i", 13 << 10, 3 * (len(parts) + 1), 24)
    for kind, content in parts:
        directory += struct.pack("<3i", kind, len(content) // 4, start)
        start += len(content)
    head = b"\n\n\xfe\xfe" + struct.pack("<d3i", 920622.0, 24, len(parts) + 1, len(parts) + 1)
    return head + directory + b"".join(content for _, content in parts)


# two bits for real, imaginary or amplitude, two for sample, reference or ratio, six for the kind of
# parameters (0: data), seven for what is measured
OPUS_TYPES = {
    "a": 3 | 3 << 2 | 4 << 10,
    "t": 3 | 3 << 2 | 5 << 10,
    "sm": 3 | 1 << 2 | 1 << 10,
    "igsm": 3 | 1 << 2 | 2 << 10,
}


def opus_parameters(**values):
    """Name, type, length in words of two bytes, value; END closes the block."""
    content = b""
    for key, value in values.items():
        if isinstance(value, str):
            stored = value.encode("latin-1") + b"\0"
            stored += b"\0" * (len(stored) % 2)
            code = 2
        else:
            stored = struct.pack("<d" if isinstance(value, float) else "<i", value)
            code = int(isinstance(value, float))
        content += key.encode() + b"\0" + struct.pack("<2h", code, len(stored) // 2) + stored
    content += b"END\0" + struct.pack("<2h", 0, 0)
    return content + b"\0" * (-len(content) % 4)
