"""Results as people read them: terminal, HTML, Markdown, JUnit, badge, DxDispatch models.

A view reads a results document and changes nothing in it.
"""
