"""What every page about a release says where its figures are not protected, or not about real businesses."""

SEEDED = (
    "NOT PROTECTED. The noise came from a seed, as in tests, so anybody who knows the seed can subtract it. Do not "
    "publish this release."
)
SYNTHETIC = (
    "The data behind this release are synthetic: made from public figures or from nothing. No figure here is about a "
    "real business."
)
