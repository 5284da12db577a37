#!/bin/sh
# Published chat templates, rendered as Jinja2 renders them (tests/oracle/chat_templates.py).
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
solo=${SOLO:-build/solo}
render=$(dirname "$solo")/tests/unit/test_jinja
python=python3
if [ ! -d deps/templates ]; then
    echo "skip templates (set-up could not fetch them)"
elif ! PYTHONPATH=deps/python $python -c 'import jinja2' 2>/dev/null; then
    echo "skip templates (no Jinja2 here)"
elif [ ! -x "$render" ]; then
    echo "skip templates ($render is not built)"
else
    $python tests/oracle/chat_templates.py "$render" deps/templates/*.jinja || echo "not ok templates"
fi
