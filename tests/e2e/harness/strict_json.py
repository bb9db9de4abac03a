"""JSON as RFC 8259 has it, and nothing more: no duplicate members, no NaN, bytes that are UTF-8."""

import json


class Real(float):
    """A number that was written with a point or an exponent. It keeps its text, since a key's text is its name."""

    def __new__(cls, text):
        number = float.__new__(cls, text)
        number.text = text
        return number

    def __repr__(self):
        return self.text


def _members(pairs):
    out = dict(pairs)
    assert len(out) == len(pairs), f"a member comes twice: {[name for name, _ in pairs]}"
    return out


def _no_constant(text):
    raise AssertionError(f"not JSON: {text}")


def loads(data):
    if isinstance(data, bytes):
        data = data.decode("utf-8")
    return json.loads(data, object_pairs_hook=_members, parse_float=Real, parse_constant=_no_constant)


def text_of(value):
    """The text of a value, the same for the same bytes on the wire: what a replica names its rows by."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
