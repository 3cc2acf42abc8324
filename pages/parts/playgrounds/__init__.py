"""The Theory page: calculators and playgrounds."""
