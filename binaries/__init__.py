"""What device code is in this file?"""
