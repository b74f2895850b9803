"""Certificates of resets: does the world's own reset leave an empty delta?

``certify`` judges one rig; the parts are its rig (``rig``, ``recipes``, ``device``), what is
read (``walk``, ``rows``), where it lives (``serve``, ``links``), the judge (``anchor``,
``sequence``, ``judge``, ``deviation``), and why it fails (``explain``, ``checks``).
"""
