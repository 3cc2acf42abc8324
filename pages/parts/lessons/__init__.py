"""The lesson: its steps, the way through them, and the teacher's panel."""
