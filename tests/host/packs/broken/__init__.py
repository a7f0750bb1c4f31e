"""A pack whose compiled part belongs to another torch."""

raise ImportError(
    "/opt/site-packages/sageattention/_qattn_sm89.cpython-312-x86_64-linux-gnu.so: "
    "undefined symbol: _ZN3c104cuda9SetDeviceEab"
)
