"""What does this error mean, and who caused it?"""
