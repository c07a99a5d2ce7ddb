"""Data files: bytes in, features and the columns kept apart from them out.

They live with the commands, because their errors name the options that help.
"""
