#!/bin/sh
# The page in real Firefox.
. tests/web/native.inc
in_host firefox node tests/web/page.mjs firefox
in_host firefox node tests/web/visits.mjs firefox
in_host firefox node tests/web/served.mjs firefox
in_host firefox node tests/web/axe.mjs firefox
in_host firefox node tests/web/catalogue.mjs firefox
in_host firefox node tests/web/full.mjs firefox
in_host firefox node tests/web/use.mjs firefox
in_host firefox node tests/web/live.mjs firefox
