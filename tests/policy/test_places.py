"""The lines of keys in a TOML text."""

from gedp.policy.places import line_of, lines_of

TEXT = '''\
# a = 1
top = "x # no comment [[ {"   # { hidden = 2 }

[a.b]
list = [
  1,  # one
  "]",
]
after = """
[not.a.table]
key = 1
"""
"quoted key" = { x = 1, y = { z = 2 } }

[[rows]]
name = 'first'
[rows.sub]
deep = 1
[[rows]]
name = "second"
dotted.key = 3
'''


def test_every_key_has_its_line() -> None:
    lines = lines_of(TEXT)
    assert lines == {
        ("top",): 2,
        ("a", "b"): 4,
        ("a", "b", "list"): 5,
        ("a", "b", "after"): 9,
        ("a", "b", "quoted key"): 13,
        ("a", "b", "quoted key", "x"): 13,
        ("a", "b", "quoted key", "y"): 13,
        ("a", "b", "quoted key", "z"): 13,
        ("rows",): 15,
        ("rows", 0): 15,
        ("rows", 0, "name"): 16,
        ("rows", 0, "sub"): 17,
        ("rows", 0, "sub", "deep"): 18,
        ("rows", 1): 19,
        ("rows", 1, "name"): 20,
        ("rows", 1, "dotted", "key"): 21,
    }


def test_unknown_keys_take_the_line_of_their_table() -> None:
    lines = lines_of(TEXT)
    assert line_of(lines, ("rows", 1, "absent", "deeper")) == 19
    assert line_of(lines, ("absent",)) is None
