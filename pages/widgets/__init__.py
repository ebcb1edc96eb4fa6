"""Draw the parts that pages are made of: sidebar, uploads, downloads, windows, the live plan."""
