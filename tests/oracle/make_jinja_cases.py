"""Writes tests/data/jinja.json: small templates, one thing each, and what Jinja2 makes of them.

    PYTHONPATH=deps/python python3 tests/oracle/make_jinja_cases.py
"""
import json

from jinja_oracle import render

CONTEXT = {
    "name": "World", "n": 7, "x": 2.5, "yes": True, "no": False, "nothing": None, "empty": "", "list": [3, 1, 2],
    "words": ["b", "A", "c", "a"], "text": "  Hello, é漢😀 world\n", "quote": "it's \"<b>\" & \\ \t\x01",
    "map": {"b": 1, "a": [1, {"k": None}], "C": "x"}, "items_dict": {"items": 5, "get": 6, "other": 7},
    "people": [{"name": "Ann", "age": 3, "in": {"x": 1}}, {"name": "bob", "age": 1, "in": {"x": 2}}, {"name": "Cid", "age": 3}],
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "<think>a</think>b"}],
}

TEMPLATES = r"""
Hello {{ name }}!
{{ 'a' "b" 'c\n\t\x41\u00e9\U0001F600\101\q\\' }}
{# a comment #}x{#- another -#}  y
a {%- if yes -%} b {%- endif -%} c
{{- name -}}   x
x {%+ if yes +%} y {% endif %} z
{% raw %}{{ not }} {% this %}{% endraw %}!
{%- raw -%}  a  {%- endraw -%}  b
{{ {'a': {'b': 1}}['a']['b'] }}{{ {}|length }}
{{ 1 + 2 * 3 - 4 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7 / 2 }}
{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1e3 }} {{ 1.5e-7 }} {{ 1e16 }} {{ 123456789.125 }} {{ 0.1 + 0.2 }} {{ 1_000 }} {{ 100.0 }}
{{ -n }} {{ +n }} {{ -n|abs }} {{ - x }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}
{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'x' }} {{ [1] + [2] }} {{ [0] * 2 }} {{ (1,) + (2, 3) }}
{{ 'a' ~ 1 ~ none ~ undefined_thing ~ [1, 'x'] ~ 2.0 }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 'a' != 'b' }} {{ 2 >= 2 }}
{{ 'el' in 'Hello' }} {{ 1 in [1, 2] }} {{ 'b' in map }} {{ 'z' not in map }} {{ 'x' in undefined_thing }} {{ not 1 in [1] }}
{{ yes and 'a' or 'b' }} {{ '' or 'c' }} {{ 0 and 1 }} {{ not yes }} {{ not '' and 'd' }}
{{ 'a' if yes else 'b' }}{{ 'c' if no }}{{ 'd' if no else 'e' if no else 'f' }}
{{ list[0] }} {{ list[-1] }} {{ list[7] }} {{ list[1:] }} {{ list[:-1] }} {{ list[::-1] }} {{ list[::2] }} {{ list[5:] }}
{{ text[2] }} {{ text[-2] }} {{ text[9:12] }} {{ text[::-1] }} {{ text[:3]|length }} {{ 'abcdef'[1:5:2] }} {{ 'abc'[-100:100] }} {{ 'abc'[2:1] }}
{{ map.a }} {{ map['b'] }} {{ map.zzz }} {{ map['a'][1].k }} {{ map.a.0 }}
{{ items_dict.other }} {{ items_dict['items'] }} {{ items_dict.items is callable }} {{ items_dict.items()|list }} {{ items_dict.get('x', 9) }}
{{ nothing }} {{ yes }} {{ n }} {{ x }} {{ list }} {{ map }} {{ (1, 'a') }} {{ (1,) }} {{ () }} {{ [quote, text] }}
{{ 1, 2 }} {{ [1, 2,] }} {{ {'a': 1,} }}
{% for i in list %}{{ i }}{{ ',' if not loop.last }}{% endfor %}
{% for i in [] %}x{% else %}none{% endfor %}
{% for i in list if i > 1 %}{{ loop.index }}/{{ loop.length }}:{{ i }} {% else %}-{% endfor %}
{% for i in 'ab' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }} {% endfor %}
{% for i in list %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {{ loop.previtem is defined }}{% endfor %}
{% for k, v in map.items() %}{{ k }}={{ v }};{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for k in map %}{{ k }}{% endfor %}{% for c in 'é漢' %}[{{ c }}]{% endfor %}{% for u in undefined_thing %}x{% endfor %}
{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in range(2, 10, 3) %}{{ i }} {% endfor %}{{ range(3)|list }}{{ range(5, 0, -2)|list }}{{ range(3)[1] }}{{ range(4)|length }}
{% for a in list %}{% for b in words %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}
{% for i in list %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i > 1) }}{% endfor %}
{% set a = 1 %}{% for i in list %}{% set a = i %}{% endfor %}{{ a }}{% if yes %}{% set a = 5 %}{% endif %}{{ a }}
{% set ns = namespace(n=0, l=[]) %}{% for i in list %}{% set ns.n = ns.n + i %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.n }} {{ ns.l }} {{ ns['n'] }} {{ ns.q is defined }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set t = 1, 2 %}{{ t }}{% set (c, d) = [3, 4] %}{{ c }}{{ d }}
{% set body %}<{{ name }}>{% endset %}{{ body }}{{ body|length }}{% set up | upper %}abc{% endset %}{{ up }}
{% if n > 10 %}a{% elif n > 5 %}b{% else %}c{% endif %}{% if nothing %}x{% elif no %}y{% else %}z{% endif %}
{% macro m(a, b=2, c=none) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=5, a=4) }}{{ m() }}{{ m.name }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}{{ f(2)|length }}
{% macro v() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ v(1, 2, a=3) }}
{% macro d(x, y=x) %}{{ y }}{% endmacro %}{{ d(3) }}{% set g = 1 %}{% macro s() %}{{ g }}{% endmacro %}{{ s() }}{% set g = 2 %}{{ s() }}
{% macro w(t) %}<{{ t }}>{{ caller(1) }}</{{ t }}>{% endmacro %}{% call(n) w('b') %}in {{ n }}{% endcall %}
{% filter upper %}abc {{ name }}{% endfilter %}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}
{% generation %}{{ name }}{% set q = 1 %}{% endgeneration %}{{ q }}
{{ text|trim }}|{{ text|trim|length }}|{{ 'xxaxx'|trim('x') }}|{{ nothing|trim }}|{{ undefined_thing|trim }}|{{ 5|trim }}
{{ map|tojson }} {{ text|tojson }} {{ quote|tojson }} {{ [1.0, 1e20, true, none, 'é']|tojson }} {{ (1, 2)|tojson }} {{ {}|tojson }} {{ []|tojson }}
{{ map|tojson(indent=2) }} {{ {'a': [], 'b': {}}|tojson(indent=4) }} {{ [1, [2]]|tojson(indent=0) }}
{{ text|tojson(ensure_ascii=true) }} {{ map|tojson(separators=(',', ':')) }} {{ map|tojson(sort_keys=true) }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}
{{ list|join }} {{ list|join(', ') }} {{ people|join('-', attribute='name') }} {{ 'abc'|join('.') }} {{ [1, none, 'x']|join('+') }}
{{ list|length }} {{ text|length }} {{ map|count }} {{ ''|length }} {{ undefined_thing|length }}
{{ undefined_thing|default('d') }} {{ ''|default('d') }} {{ ''|default('d', true) }} {{ none|default('d', boolean=true) }} {{ undefined_thing|d }}
{{ list|first }} {{ list|last }} {{ 'abc'|first }} {{ []|first is defined }} {{ 'ab'|list }} {{ map|list }}
{{ people|map(attribute='name')|list }} {{ words|map('upper')|join }} {{ people[:2]|map(attribute='in.x')|list }} {{ people|map(attribute='zz', default=0)|list }} {{ list|map('string')|list }}
{{ list|select('odd')|list }} {{ list|reject('equalto', 1)|list }} {{ [0, 1, '']|select|list }} {{ people|selectattr('age', 'equalto', 3)|map(attribute='name')|list }}
{{ people|selectattr('in')|list|length }} {{ people|rejectattr('in', 'defined')|map(attribute='name')|first }} {{ people[:2]|selectattr('in.x', '>', 1)|list|length }} {{ nothing|selectattr('a')|list }}
{{ 'yes' if people|selectattr('age', 'gt', 99) else 'no' }} {{ list|select('in', [1, 3])|list }} {{ words|select('lower')|list }}
{{ map|items|list }} {{ undefined_thing|items|list }} {{ map|dictsort }} {{ map|dictsort(true) }} {{ {'a': 2, 'b': 1}|dictsort(by='value') }} {{ map|dictsort(reverse=true)|first }}
{{ 5|string + 'x' }} {{ '12'|int + 1 }} {{ '3.7'|int }} {{ 'x'|int }} {{ 'x'|int(5) }} {{ 3.9|int }} {{ '2.5'|float }} {{ 'x'|float(1.5) }} {{ true|int }} {{ none|int(default=7) }}
{{ 'aBc dEf'|upper }} {{ 'aBc'|lower }} {{ 'aBC dEF'|capitalize }} {{ 'hello wORLD-foo (bar'|title }} {{ 'éàß Жя Ωσ'|upper }} {{ 'ÉÀ ЖЯ ΩΛ'|lower }}
{{ 'aXbXc'|replace('X', '-') }} {{ 'aXbXc'|replace('X', '', 1) }} {{ 'ab'|replace('', '.') }} {{ 12|replace(1, 3) }}
{{ 'a\nb\n\nc'|indent }} | {{ 'a\nb\n\nc'|indent(2, true) }} | {{ 'a\n\nb'|indent(2, blank=true) }} | {{ 'a\nb'|indent('> ') }} | {{ 'a\n'|indent }}
{{ [1, 2, 1, 'A', 'a']|unique|list }} {{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ list|sort(reverse=true) }} {{ people|sort(attribute='age')|map(attribute='name')|list }}
{{ list|reverse|list }} {{ 'abc'|reverse }} {{ list|min }} {{ list|max }} {{ list|sum }} {{ people|sum(attribute='age') }} {{ words|min }}
{{ '<a href="x">\'&'|escape }} {{ '<'|e }} {{ '<'|safe }} {{ '<' + ('>'|safe) }} {{ ('<'|safe) + '>' }} {{ ('<'|safe) ~ '>' }} {{ '<'|e|e }}
{{ 2.5|round }} {{ 2.567|round(2) }} {{ 2.1|round(0, 'ceil') }} {{ 2.9|round(method='floor') }} {{ 3.5|round }} {{ -3|abs }} {{ -2.5|abs }}
{{ '%s is %d'|format('a', 3) }} {{ '%s-%s' % ('a', 'b') }} {{ '%s%%' % 5 }} {{ '%r' % 'x' }} {{ '{} {}'.format(1, 'a') }} {{ '{0}{1}{0} {x} {{}}'.format('a', 'b', x=5) }}
{{ name is defined }} {{ zzz is defined }} {{ zzz is undefined }} {{ map.zzz is defined }} {{ nothing is none }} {{ zzz is none }} {{ nothing is not none }}
{{ 'a' is string }} {{ 1 is string }} {{ map is mapping }} {{ list is mapping }} {{ list is iterable }} {{ 'a' is iterable }} {{ 5 is iterable }} {{ zzz is iterable }}
{{ list is sequence }} {{ 'a' is sequence }} {{ map is sequence }} {{ 5 is sequence }} {{ map.items() is sequence }} {{ list|map('int') is sequence }} {{ zzz is sequence }} {{ (1,) is sequence }}
{{ 5 is number }} {{ 2.5 is number }} {{ true is number }} {{ '5' is number }} {{ 5 is integer }} {{ true is integer }} {{ 2.5 is float }} {{ true is boolean }} {{ 1 is boolean }}
{{ yes is true }} {{ 1 is true }} {{ no is false }} {{ 0 is false }} {{ 3 is odd }} {{ 3 is even }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }}
{{ 1 is equalto 1 }} {{ 1 is eq(2) }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is ge 2 }} {{ 1 is in [1] }} {{ 3 is not in [1] }} {{ 'ab' is lower }} {{ 'AB' is upper }} {{ m is callable }} {{ 1 is sameas 1 }}
{{ 'a,b,,c'.split(',') }} {{ ' a  b c '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a b c'.split(none, 1) }} {{ 'abc'.split('x') }} {{ 'a.b.c'.rsplit('.', 1) }} {{ 'a</think>b</think>c'.split('</think>')[-1] }}
{{ text.strip() }}| {{ text.lstrip()|length }} {{ text.rstrip()|length }} {{ 'xaxbx'.strip('x') }} {{ 'xyaxy'.lstrip('yx') }} {{ 'a\n\n'.rstrip('\n') }}| {{ '\u00a0\u3000\x1ca\x85'.strip() }}
{{ 'abc'.startswith('a') }} {{ 'abc'.endswith('bc') }} {{ 'abc'.startswith(('x', 'ab')) }} {{ 'abc'.startswith('b', 1) }} {{ 'abc'.endswith('') }}
{{ 'abc'.upper() }} {{ 'ABC'.lower() }} {{ 'they\'re bill\'s'.title() }} {{ 'aBC d'.capitalize() }} {{ 'aXb'.replace('X', 'YY') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ '-'.join(['a', 'b']) }}
{{ 'hello'.find('l') }} {{ 'hello'.rfind('l') }} {{ 'hello'.find('z') }} {{ 'é漢x'.find('x') }} {{ 'hello'.count('l') }} {{ 'hello'.index('e') }} {{ 'hello'.find('l', 3) }}
{{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' \n'.isspace() }} {{ ''.isdigit() }} {{ 'Ab'.islower() }} {{ 'AB1'.isupper() }} {{ '7'.zfill(3) }} {{ '-7'.zfill(4) }}
{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('x') }} {{ 'abc'.rpartition('x') }} {{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ 'a\nb\r\nc'.splitlines() }}
{{ map.keys()|list }} {{ map.values()|list }} {{ map.get('b') }} {{ map.get('zz') }} {{ map.get('zz', 'd') }} {{ map.items()|length }} {{ map.copy() }}
{{ [1, 2, 1].count(1) }} {{ [1, 2].index(2) }} {% set l = [1] %}{% set _ = l.append(2) %}{{ l }} {{ l.pop() }} {{ l }} {% set _ = l.extend([5, 6]) %}{{ l.pop(0) }}{{ l }}
{{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d %H:%M:%S %A %B %a %j %y %I %p %%') }} {{ strftime_now('%-d/%-m') }}
{% for m in messages %}{{ '<|' + m.role + '|>\n' + m['content'].split('</think>')[-1] }}{% endfor %}
{% set x = messages | selectattr('role', 'equalto', 'user') | list %}{{ x|length }}{{ (messages|last).role }}{{ messages[-1]['role'] }}{{ messages[0:1][0].content }}
{{ namespace(a=1).a }}{% set d2 = {'x': 1} %}{{ d2.x }}{{ d2['y'] is defined }}{{ [[1, 2], [3]]|map('length')|list }}{{ [1, 2, 3][1:][0] }}
{{ [] is none }}{{ [] == () }}{{ {} == {} }}{{ {'a': 1} == {'a': 1.0} }}{{ [1, [2]] == [1, [2]] }}{{ none == undefined_thing }}{{ undefined_a == undefined_b }}
{% if messages %}a{% endif %}{% if [] %}b{% endif %}{% if {} %}c{% endif %}{% if 0.0 %}d{% endif %}{% if ' ' %}e{% endif %}{% if namespace() %}f{% endif %}
""".strip("\n").split("\n")

# several lines, or characters that a line of a list cannot have
TEMPLATES += [
    "{% macro x() %}{{ dict(a=1, b=2) }}{{ dict([('a', 1)], c=3) }}{% endmacro %}{{ x() }}",
    "a\n  {% if yes %}\n  b\n  {% endif %}\nc\n",
    "  {{ name }}\n  {# c #}\n x\n\n",
    "{% for i in list %}\n{{ i }}\n{% endfor %}\n\n",
    "{% if yes %}\r\nx\r\n{% endif %}\ry",
    "{%- for i in list -%}\n  {{- i -}}\n{%- endfor -%}\n",
    "\n\n{{ name }}\n\n",
    "{% set a %}\n  x\n{% endset %}\n[{{ a }}]",
    "  \t{%- if yes %}\n  a\n  {%- endif %}\n b",
    "{{ 'a\nb' }}{{ 'c\\\nd' }}",
    "{% raw %}\n {{ a }}\n{% endraw %}\n b",
    "x{% if yes %}  \n  y{% endif %}",
    "{{ {'a': 1\n, 'b': 2} }}",
    "{% macro a() %}\n  in\n{% endmacro %}\n{{ a() }}|",
    "{% for i in list %}{% if i == 1 %}\n one\n{% else %}\n {{ i }}\n{% endif %}{% endfor %}",
]

REFUSED = r"""
{{ raise_exception('No: ' + name) }}
{% for m in messages %}{% if m.role == 'assistant' %}{{ raise_exception("roles!") }}{% endif %}{% endfor %}
{{ undefined_thing.x }}
{{ map.zzz.y }}
{{ undefined_thing['x'] }}
{{ undefined_thing + 'a' }}
{{ undefined_thing() }}
{{ 'a' + 1 }}
{{ 1 + none }}
{{ 'a' < 1 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 5|length }}
{{ list|map('upper')|length }}
{{ 1|join(',') }}
{{ none|list }}
{{ 'x'.split('') }}
{{ 'abc'.index('z') }}
{{ undefined_thing|tojson }}
{{ list|map('nonesuch')|list }}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{% for a in 5 %}{% endfor %}
{% set map.a = 1 %}
{{ range(1000000) }}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(b=2) }}
{{ name() }}
{{ {[]: 1} }}
{{ 1 in 'abc' }}
{{ '%d' % 'x' }}
{{ '%s %s' % 'x' }}
{{ [1, 'a']|sort }}
{% if %}{% endif %}
{% endif %}
{% for i in list %}
{{ name
{{ 'abc }}
{% nonesuch %}
{{ a b }}
{{ (1, 2 }}
{{ 1 is nonesuch }}
{{ name|nonesuch }}
{# x
{% break %}
{{ [1, 2 }}
{{ a. }}
{% set 5 = 1 %}
{% raw %}x
""".strip("\n").split("\n")

cases = []
for text in TEMPLATES:
    kind, value = render(text, json.loads(json.dumps(CONTEXT)))
    if kind != "text":
        print("refused:", text, value)
    cases.append({"template": text, "text": value})
for text in REFUSED:
    kind, value = render(text, json.loads(json.dumps(CONTEXT)))
    if kind == "text":
        print("not refused:", text, value)
    cases.append({"template": text, "raised": value} if kind == "raised" else {"template": text, "refused": True})
with open("tests/data/jinja.json", "w", encoding="utf-8") as f:
    json.dump({"context": CONTEXT, "cases": cases}, f, ensure_ascii=True, indent=0)
    f.write("\n")
print(len(cases), "cases")
