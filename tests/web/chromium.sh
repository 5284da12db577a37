#!/bin/sh
# The page in real Chromium.
. tests/web/native.inc
in_host chromium node tests/web/page.mjs chromium
in_host chromium node tests/web/visits.mjs chromium
in_host chromium node tests/web/served.mjs chromium
in_host chromium node tests/web/axe.mjs chromium
in_host chromium node tests/web/catalogue.mjs chromium
in_host chromium node tests/web/full.mjs chromium
in_host chromium node tests/web/use.mjs chromium
in_host chromium node tests/web/live.mjs chromium
in_host chromium node tests/web/torch.mjs chromium
