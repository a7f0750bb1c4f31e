__version__ = '2.6.0+cu124'
debug = False
cuda = '12.4'
hip = None
