"""The report of a study: one HTML page that needs nothing beside itself.

notebook.py   runs workflow/notebooks/report.ipynb and makes the page of it
inputs.py     the files it is made of
sections.py   what the page says, from the study's results
html.py       pieces of HTML; everything that comes from files is escaped here
episodes.py   which episodes the page shows, read from the large files and judged
dialogue.py   an episode's text, split into who said what
viewer.py     episodes packed for the page's script, up to a number of bytes

The page's frame, style and script lie in workflow/notebooks/page/.
"""
