"""What the package offers."""

import gedp


def test_every_public_name_resolves_and_is_documented() -> None:
    for name in gedp.__all__:
        assert getattr(gedp, name) is not None
        if not name.startswith("__"):
            assert getattr(gedp, name).__doc__
    assert not hasattr(gedp, "nonsense")
