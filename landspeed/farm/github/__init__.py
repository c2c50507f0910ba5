"""What the farm reads and writes on GitHub: issues, comments and artifacts, by its REST API.

Start at ``api.GitHub`` and ``issues.update_issues``.
"""
