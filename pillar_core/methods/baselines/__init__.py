"""What semi-private learners are held against: no public data, public data alone, no privacy."""
