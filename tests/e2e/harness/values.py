"""SQLite values by class and bytes, and back from what the wire says of them."""

import re
import struct

from .strict_json import Real

EXACT_INTEGER_MAX = 2**53 - 1


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def affinity(declared, strict=False):
    """SQLite's rule for a column's declared type (datatype3, 3.1)."""
    text = (declared or "").upper()
    if strict and text == "ANY":
        return "BLOB"
    if "INT" in text:
        return "INTEGER"
    if "CHAR" in text or "CLOB" in text or "TEXT" in text:
        return "TEXT"
    if "BLOB" in text or not text:
        return "BLOB"
    if "REAL" in text or "FLOA" in text or "DOUB" in text:
        return "REAL"
    return "NUMERIC"


def stored(kind, value):
    """A value as SQLite holds it: ('text', b'…') and the like, equal only if class and bytes are."""
    if kind == "null":
        return ("null",)
    if kind == "integer":
        return ("integer", int(value))
    if kind == "real":
        return ("real", struct.pack(">d", value))
    return (kind, bytes(value))


def from_wire(value, column_affinity="BLOB"):
    """The stored value that a JSON value stands for, by the table in WIRE."""
    if value is None:
        return ("null",)
    assert not isinstance(value, (bool, list)), value
    if isinstance(value, Real):
        return ("real", struct.pack(">d", value))
    if isinstance(value, int):
        assert abs(value) <= EXACT_INTEGER_MAX, f"{value} does not survive JSON.parse"
        return ("integer", value)
    if isinstance(value, str):
        if column_affinity in ("INTEGER", "NUMERIC") and re.fullmatch(r"-?[1-9][0-9]{15,18}", value):
            number = int(value)
            if EXACT_INTEGER_MAX < abs(number) and -(2**63) <= number < 2**63:
                return ("integer", number)
        return ("text", value.encode("utf-8"))
    assert len(value) == 1, value
    (tag, text), = value.items()
    if tag == "integer":
        assert EXACT_INTEGER_MAX < abs(int(text)), value
        assert column_affinity not in ("INTEGER", "NUMERIC"), (value, column_affinity)
        return ("integer", int(text))
    if tag == "real":
        assert text in ("Infinity", "-Infinity"), value
        return ("real", struct.pack(">d", float(text.replace("Infinity", "inf"))))
    if tag == "text_hex":
        data = bytes.fromhex(text)
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return ("text", data)
        raise AssertionError(f"valid UTF-8 comes as a string: {value}")
    assert tag == "blob_hex", value
    assert text == text.lower(), value
    return ("blob", bytes.fromhex(text))
