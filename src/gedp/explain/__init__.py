"""What a policy promises, in numbers (facts), on one page (page)."""
