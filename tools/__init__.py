"""Programs for those who work on gedp."""
