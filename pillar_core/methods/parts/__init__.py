"""What several learners are made of; nothing here is registered."""
