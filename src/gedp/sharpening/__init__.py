"""Tables of a release that lean on earlier releases: by a model, from what is public, and never by default.

`model` is the arithmetic; `table` makes tables of releases with it.
"""

from gedp.sharpening.table import Sharpened, require_outside_releases, sharpen

__all__ = ["Sharpened", "require_outside_releases", "sharpen"]
