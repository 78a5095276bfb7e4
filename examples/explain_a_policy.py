"""A policy in Python: intervals, price, and what two publishers promise together."""

from gedp import Linear, PrivacyLoss, Promise, Protection, Sqrt, compose_publishers, parse_spec, price, widen
from gedp.accounting.composition import power
from gedp.policy.examples import example_text

employment = Protection(Sqrt(), gamma=0.5)
for jobs in (3, 36, 360, 36_000):
    low, high = employment.interval(jobs)
    print(f"{jobs:>6,} jobs hide among {low:,.1f} to {high:,.1f}")

# Also hide any 10 people, however small their establishment.
with_people = widen(employment, Protection(Linear(), gamma=10))
print(f"an establishment of 9 now hides among {with_people.interval(9)[0]:.0f} to {with_people.interval(9)[1]:.0f}")

spec = parse_spec(example_text("paper-equal"))
prices = price(spec)
print(
    f"the workload costs mu = {prices.total.mu:.4f}; an attacker who accepts 5% false alarms detects a true "
    f"difference with a chance of at most {float(power(prices.total.mu, 0.05)):.1%}"
)

state = Promise({"m1emp": Protection(Sqrt(), gamma=0.2)}, PrivacyLoss.of("1.0"))
both = compose_publishers(spec.policy.promise, state)
print(f"with the state's own release: mu = {both.loss.mu:.4f}, m1emp within {both.protections['m1emp']}")
