"""What people write to a help desk, and what they do not."""

HARDWARE = (
    "the printer shows a paper jam",
    "my laptop screen stays black",
    "two keys of the keyboard are broken",
    "the monitor flickers",
)
BILLING = (
    "I was charged twice for one order",
    "please send the invoice again",
    "my refund has not arrived",
    "the payment was declined",
)
FOREIGN = (
    "the goalkeeper saved a penalty",
    "rain is expected in the valley",
    "stir the onions in butter",
    "the train leaves at noon",
)
