#!/bin/sh
# solo chat as a person uses it, and what solo run takes besides; in a pipe and on a terminal.
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
solo=${SOLO:-build/solo}
model=../shared/models/stories260K/f32.gguf
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fails() {
    name=$1 status=$2 part=$3
    shift 3
    "$@" >"$work/out" 2>"$work/errors" </dev/null
    got=$?
    if [ $got -eq "$status" ] && grep -qF -- "$part" "$work/errors" && [ "$(wc -l <"$work/errors")" -eq 1 ]; then
        echo "ok $name"
    else
        echo "not ok $name exit status $got: $(head -c 200 "$work/errors")"
    fi
}

same() { # NAME GOT RIGHT
    if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1 '$2', not '$3'"; fi
}

one_line() { # TEXT, with single spaces between its words
    printf '%s' "$1" | tr -s '[:space:]' ' ' | sed 's/^ //;s/ $//'
}

fails chat_template 2 "no template 'nobody'" "$solo" chat x.gguf --template nobody
fails chat_think 2 "auto, on or off" "$solo" chat x.gguf --think maybe
fails chat_missing 1 "/no/such.gguf" "$solo" chat /no/such.gguf
for option in --temp --top-p --min-p --repeat-penalty --top-k --seed; do
    fails "value_of$option" 2 "$option takes a" "$solo" run x.gguf -p x $option -1
done
fails seed_is_whole 2 "--seed takes a whole number" "$solo" run x.gguf -p x --seed 1.5
fails think_budget_is_a_number 2 "--think-budget takes a whole number" "$solo" chat x.gguf --think-budget 0
fails session_to_a_stream 2 "--session takes a file" "$solo" chat --session -
fails session_of_run_to_a_stream 2 "--session takes a file" "$solo" run -p x --session -
fails command_without_tools 2 "--tool-command needs --tools" "$solo" chat x.gguf --tool-command cat
fails stop_is_not_empty 2 "--stop takes a text" "$solo" chat x.gguf --stop ''
fails context_is_a_number 2 "-c takes a whole number" "$solo" chat x.gguf -c none
"$solo" chat --help | grep -q '/regenerate' && echo "ok help" || echo "not ok help"

# a zero byte would end a text: what stands behind it is not left out, but refused
zero() { # NAME PART COMMAND...: with a message on standard input
    name=$1 part=$2
    shift 2
    "$@" >"$work/out" 2>"$work/errors"
    got=$?
    if [ $got -eq 1 ] && grep -qF -- "$part" "$work/errors"; then echo "ok $name"; else echo "not ok $name exit status $got: $(head -c 200 "$work/errors")"; fi
}
printf '{{ messages[0].content }}\0{{ raise_exception("x") }}' >"$work/zero.jinja"
printf '[]\0x' >"$work/zero.json"
echo hi | zero zero_byte_of_a_template "zero.jinja is not text: it has a zero byte" "$solo" chat -n 1 --template "$work/zero.jinja"
fails zero_byte_of_a_served_template 1 "zero.jinja is not text" timeout 20 "$solo" serve --port 0 --template "$work/zero.jinja"
echo hi | zero zero_byte_of_tools "zero.json is not text: it has a zero byte" "$solo" chat -n 1 --template chatml --tools "$work/zero.json"
printf 'Tom\nA\0nn\n' | zero zero_byte_of_a_message "the message is not text: it has a zero byte" "$solo" chat -n 1 --template chatml
same messages_that_cannot_be_read "$("$solo" chat -n 1 --template chatml 2>&1 </; echo $?)" 'solo: standard input: Is a directory
1'
same commands_that_take_nothing "$(printf '/reset now\n/slide 5\n/regenerate 2\n/quit x\n/compact all\n/help me\n/quit\nnever\n' | "$solo" chat -n 1 --template chatml 2>&1 | LC_ALL=C grep -c '^solo: /[a-z]* takes nothing')" 6
python3 tests/cli/make_bigram.py "$work/zero"
echo '[{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]' >"$work/zero.json"
echo "{{ messages[-1].content }}{{ '<|ask|>' if tools else '<|say|>' }}" >"$work/zero.jinja"
for command in "printf 'a\\0b'" "cat /dev/zero"; do
    echo hi | zero "zero_byte_of_a_tool $command" "the tool's command wrote " "$solo" chat "$work/zero" --temp 0 --template "$work/zero.jinja" --tools "$work/zero.json" --tool-command "$command"
done
echo '[{"type": "function", "function": {"name": "add", "name": "sub"}}]' >"$work/twice.json"
fails tools_with_a_key_twice 1 "or has a key twice" "$solo" chat "$work/zero" --template "$work/zero.jinja" --tools "$work/twice.json"

if [ ! -e $model ]; then
    echo "skip chat (no ../shared here)"
    exit 0
fi

# turns as llama-2 has them
cat >"$work/llama-2.jinja" <<'END'
{%- for m in messages -%}
    {%- if m.role == 'user' -%}
        {%- set before = '<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n' if loop.index0 == 1 and messages[0].role == 'system' else '' -%}
        {{- bos_token + '[INST] ' + (before + m.content).strip() + ' [/INST]' -}}
    {%- elif m.role == 'assistant' -%}
        {{- ' ' + m.content.strip() + ' ' + eos_token -}}
    {%- endif -%}
{%- endfor -%}
END
llama_2=$work/llama-2.jinja
chat() { "$solo" chat $model --temp 0 "$@" 2>"$work/errors"; }
run() { "$solo" run $model "$@" 2>"$work/errors"; }

# a model without a template goes on with the text
text=$(run -p 'Once upon a time' -n 12)
same continues "$(echo 'Once upon a time' | chat -n 12)" "${text#Once upon a time}"
grep -q 'no chat template' "$work/errors" && echo "ok says_so" || echo "not ok says_so"

# with turns: each answer is what the whole text gives, though only the new tokens were fed
printf 'Tom\n/save %s/one.json\nAnn\n' "$work" | chat -n 5 --template "$llama_2" >"$work/turns"
first=$(sed -n 1p "$work/turns") second=$(sed -n 2p "$work/turns")
answer=$(sed -n 's/^   "content": "\(.*\)"$/\1/p' "$work/one.json" | sed -n 2p)
prompt='[INST] Tom [/INST]'
same first_turn "$(run -p "$prompt" -n 5)" "$prompt$first"
prompt="[INST] Tom [/INST] $(one_line "$answer") </s><s>[INST] Ann [/INST]"
whole=$(run -p "$prompt" -n 5)
case $whole in
*"[INST] Ann [/INST]$second") echo "ok second_turn" ;;
*) echo "not ok second_turn '$whole' does not end in '$second'" ;;
esac

# commands
same regenerate "$(printf 'Tom\n/regenerate\n' | chat -n 5 | sort -u | wc -l)" 1
same reset "$(printf 'Tom\nAnn\n/reset\nTom\n' | chat -n 5 --template "$llama_2" | sed -n '1p;3p' | sort -u | wc -l)" 1
same system "$(printf '/system Be brief.\nTom\n' | chat -n 5 --template "$llama_2")" "$(echo Tom | chat -n 5 --template "$llama_2" --system 'Be brief.')"
printf '"""\nTom\nand\n"""\nA\\\nB\n/save %s/two.json\n/quit\nnever\n' "$work" | chat -n 2 >"$work/out"
same lines "$(python3 -c 'import json,sys; print([m["content"] for m in json.load(open(sys.argv[1]))["messages"] if m["role"]=="user"])' "$work/two.json")" "['Tom\\nand\\n', 'A\\nB']"
printf '/regenerate\n/nonsense\n/save\n' | chat >"$work/out"
same mistakes "$(grep -c -e 'no answer yet' -e 'no command /nonsense' -e "file's name" "$work/errors")" 3

printf '/save\nTom\n' | chat -n 2 >"$work/out"
same mistakes_are_a_status "$? $(wc -l <"$work/out")" '1 1'

# a context that fills: the oldest turns go, which is said once, and it goes on
same forgets "$(printf 'one\ntwo\nthree\nfour\nfive\nsix\n' | chat -n 8 -c 48 --template "$llama_2" | wc -l)" 6
same says_once "$(grep -c 'forgotten' "$work/errors")" 1
echo "a b c d e f g h i j k l m n o p q r s t u v w x y z" | chat -c 24 >"$work/out"
status=$?
same too_long "$status $(grep -c 'too many for a context of 24 (-c N makes it longer)' "$work/errors")" "1 1"

# stop texts, and the context of run
same stops "$(run -p 'Once upon a time' -n 30 --stop ' named' --stop 'zzz')" 'Once upon a time, there was a little girl'
same context "$(run -p 'Once upon a time' -n 30 -c 10 | wc -w)" "$(run -p 'Once upon a time' -n 5 | wc -w)"
run -p 'Once upon a time' -n 30 -c 10 >"$work/out"
grep -q 'context of 10 tokens is full' "$work/errors" && echo "ok context_is_full" || echo "not ok context_is_full"

# a Hugging Face folder with a vocabulary of bytes, its template in either file
mkdir "$work/folder"
for file in config.json model.safetensors; do ln -s "$PWD/../shared/models/hf/qwen2/$file" "$work/folder/$file"; done
python3 - "$work/folder" <<'END'
import json, sys
printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 255 and b != 173]
letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(sorted(set(range(256)) - set(printable)))}
marker = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
json.dump({"added_tokens": [{"id": 256, "content": "<|im_start|>", **marker}, {"id": 257, "content": "<|im_end|>", **marker}],
           "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
           "model": {"type": "BPE", "vocab": {letters[b]: b for b in range(256)}, "merges": []}}, open(sys.argv[1] + "/tokenizer.json", "w"))
END
template="{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\\\n' + message['content'] + '<|im_end|>\\\\n' }}{% endfor %}{{ '<|im_start|>assistant\\\\n' }}"
printf '{"eos_token": "<|im_end|>", "chat_template": "%s"}' "$template" >"$work/folder/tokenizer_config.json"
asked=$(printf '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n.')
right=$("$solo" run "$work/folder" -p "${asked%.}" -n 6)
got=$(echo hi | "$solo" chat "$work/folder" --temp 0 -n 6 2>"$work/errors")
same folder "user hi assistant $(one_line "$got") $(wc -l <"$work/errors")" "$(one_line "$right") 0"
printf '{"eos_token": "<|im_end|>"}' >"$work/folder/tokenizer_config.json"
printf '%s' "$template" | sed 's/\\\\/\\/g' >"$work/folder/chat_template.jinja" # JSON has each backslash twice
same template_file "$(echo hi | "$solo" chat "$work/folder" --temp 0 -n 6 2>&1)" "$got"

# a template that cannot be run is refused with its line, by a conversation only
printf 'a\n{%% include "x" %%}' >"$work/folder/chat_template.jinja"
fails template_refused 1 "chat template, line 2: the tag 'include' is not known here" "$solo" chat "$work/folder"
"$solo" run "$work/folder" -p hi -n 2 >/dev/null 2>"$work/errors" && echo "ok run_without_it" || echo "not ok run_without_it $(cat "$work/errors")"
# so is what a template refuses, and the conversation goes on
printf '{%% if messages[0].content == "no" %%}{{ raise_exception("Not this.") }}{%% endif %%}{{ messages[0].content }}' >"$work/folder/chat_template.jinja"
echo no | "$solo" chat "$work/folder" >"$work/out" 2>"$work/errors"
same raises "$? $(cat "$work/errors")" "1 solo: chat template, line 1: Not this."
# thinking, where the template asks for it
printf '%s' '{{ messages[0].content }}{{ "X" if enable_thinking is defined and enable_thinking else "Y" if enable_thinking is defined else "Z" }}' >"$work/folder/chat_template.jinja"
thinks() { echo hi | "$solo" chat "$work/folder" --temp 0 -n 6 "$@" 2>/dev/null; }
same think_on "$(thinks --think on)" "$("$solo" run "$work/folder" -p hiX -n 6 | cut -c 4-)"
same think_off "$(thinks --think off)" "$("$solo" run "$work/folder" -p hiY -n 6 | cut -c 4-)"
same think_auto "$(thinks)" "$("$solo" run "$work/folder" -p hiZ -n 6 | cut -c 4-)"
same think_later "$(printf '/think on\nhi\n' | "$solo" chat "$work/folder" --temp 0 -n 6 2>/dev/null)" "$(thinks --think on)"

# a file that /save did not write stays, and a session's folder is looked at before there is a text
echo 'a letter' >"$work/letter"
echo '{"model_type": "llama"}' >"$work/letter.json"
for file in letter letter.json; do
    printf 'Tom\n/save %s/%s\n' "$work" "$file" | chat -n 2 >"$work/out"
    same "save_leaves_$file" "$(cat "$work/$file") $(grep -c 'stays as it is' "$work/errors")" "$(case $file in *.json) echo '{"model_type": "llama"}' ;; *) echo 'a letter' ;; esac) 1"
done
printf 'Tom\n/save %s/again.json\n/save %s/again.json\n/save %s/again\n/save %s/again\n' "$work" "$work" "$work" "$work" | chat -n 2 >"$work/out"
same save_again "$(grep -c "stays as it is" "$work/errors")" 0
fails no_session_folder 1 'cannot write' "$solo" chat -n 2 --session "$work/nowhere/x"
fails no_session_folder_run 1 'cannot write' "$solo" run -n 2 -p x --session "$work/nowhere/x"

# sessions: what was saved goes on as if nothing had been between
run -p 'Once upon a time' -n 24 --temp 0.9 --seed 4 >"$work/whole"
run -p 'Once upon a time' -n 12 --temp 0.9 --seed 4 --session "$work/text.session" >"$work/half"
run -n 12 --session "$work/text.session" </dev/null >>"$work/half"
same session_of_run "$(tr -d '\n' <"$work/half")" "$(cat "$work/whole")"
run -p And -n 4 --session "$work/text.session" >"$work/out"
same session_with_more "$(cut -c 1-4 "$work/out")" " And"
printf 'Tom\nAnn\n' | chat -n 5 --template "$llama_2" >"$work/turns"
printf 'Tom\n' | chat -n 5 --template "$llama_2" --session "$work/talk.session" >"$work/out"
printf 'Ann\n' | chat -n 5 --template "$llama_2" --session "$work/talk.session" >>"$work/out"
same session_of_chat "$(cat "$work/out")" "$(cat "$work/turns")"
printf 'Tom\n/save %s/one.session\nNo\n/load %s/one.session\nAnn\n' "$work" "$work" | chat -n 5 --template "$llama_2" | sed -n '1p;3p' >"$work/out"
same load "$(cat "$work/out")" "$(cat "$work/turns")"
head -c 500 "$work/talk.session" >"$work/cut.session"
printf '/load %s/cut.session\n/load %s/text.session\n/load %s/none\n/load\nTom\n' "$work" "$work" "$work" | chat -n 5 --template "$llama_2" >"$work/out"
same refused_sessions "$(cat "$work/out") $(grep -c -e 'cut.session is damaged' -e 'text.session is a text of solo run' -e "$work/none: " -e "needs a file's name" "$work/errors")" "$first 4"
fails foreign_session 1 "was saved with another model" "$solo" run -n 2 --session "$work/text.session" -p x
cp "$work/cut.session" "$work/kept.session"
fails damaged_session 1 "is damaged" "$solo" run $model -p x -n 2 --session "$work/kept.session"
cmp -s "$work/cut.session" "$work/kept.session" && echo "ok damaged_session_stays" || echo "not ok damaged_session_stays"

# tools, and a budget for thoughts, with a model that says what it is told to
python3 tests/cli/make_bigram.py "$work/bigram"
cat >"$work/tools.jinja" <<'END'
{%- for t in tools or [] -%}[{{ t.function.name }}]{%- endfor -%}
{%- for m in messages -%}<{{ m.role }}>{{ m.content }}
{%- for c in m.tool_calls or [] -%}({{ c.function.name }} {{ c.function.arguments | tojson }}){%- endfor -%}
{%- if m.role == 'tool' -%}#{{ m.name }} {{ m.tool_call_id }}{%- endif -%}{%- endfor -%}
{{- '<|result|>' if messages[-1].role == 'tool' else '<|ask|>' if tools else '<|say|>' -}}
END
echo '[{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]' >"$work/tools.json"
tools() { "$solo" chat "$work/bigram" --temp 0 --template "$work/tools.jinja" "$@" 2>"$work/errors"; }
same without_tools "$(echo hi | tools)" "Hello."
same tool_result_typed "$(printf 'hi\n4\n/save %s/calls.json\n' "$work" | tools --tools "$work/tools.json") $(cat "$work/errors")" 'Four. solo: calls add({"a": 1, "b": 3})'
same tool_messages "$(python3 -c 'import json,sys; print([(m["role"], m["content"], m.get("name")) for m in json.load(open(sys.argv[1]))["messages"]])' "$work/calls.json")" "[('user', 'hi', None), ('assistant', '', None), ('tool', '4', 'add'), ('assistant', 'Four.', None)]"
same tool_command "$(printf 'hi\n/save %s/calls.json\n' "$work" | tools --tools "$work/tools.json" --tool-command "sed 's/.*name.: .\([a-z]*\).*/got \1/'") $(grep -c '"content": "got add"' "$work/calls.json")" "Four. 1"
# a name that would end its text, begin a line and colour the terminal is none; a model that writes it reaches no command
sed 's/<|ask|>/<|forge|>/' "$work/tools.jinja" >"$work/forge.jinja"
printf '%s' '[{"type": "function", "function": {"name": "a\", \"arguments\": {}}\n\u001b[31m"}}]' >"$work/forge.json"
fails tool_name 1 "a function's name is made of" "$solo" chat "$work/folder" --template "$work/forge.jinja" --tools "$work/forge.json"
printf 'hi\n/save %s/calls.json\n' "$work" | tools --template "$work/forge.jinja" --tools "$work/tools.json" --tool-command "cat >$work/call; echo 4" >"$work/out"
same tool_not_listed "$(test -e "$work/call" || echo none) $(grep -c 'which is no tool of the list' "$work/errors") $(grep -c 'there is no tool of this name' "$work/calls.json")" "none 1 1"
echo hi | tools --tools "$work/tools.json" --tool-command yes >"$work/out"
same tool_writes_on "$? $(grep -c 'wrote more than 1048576 bytes for add' "$work/errors")" "1 1"
echo hi | tools --tools "$work/tools.json" --tool-command 'kill -9 $$' >"$work/out"
same tool_killed "$? $(grep -c 'was ended for add, by signal 9' "$work/errors")" "1 1"
printf 'hi\n' | tools --tools "$work/tools.json" --tool-command 'exit 3' >"$work/out"
same tool_command_fails "$? $(grep -c 'failed for add, with status 3' "$work/errors")" "1 1"
echo '{"a": 1}' >"$work/no.json"
fails tools_are_a_list 1 "no.json is no list of tools: it is no list" "$solo" chat "$work/bigram" --template "$work/tools.jinja" --tools "$work/no.json"
fails tools_need_a_template 1 "takes no tools" "$solo" chat "$work/bigram" --template chatml --tools "$work/tools.json"
printf '{{ messages[-1].content }}<think>' >"$work/think.jinja"
same think_budget "$(echo hi | "$solo" chat "$work/bigram" --temp 0 --template "$work/think.jinja" --think-budget 4 2>&1 | tr '\n' '|')" "hm hm hm hm |</think>||Yes.|"

if python3 -c 'import pty' 2>/dev/null && python3 -c 'import os; os.waitstatus_to_exitcode' 2>/dev/null; then
    python3 tests/cli/chat_terminal.py "$solo" $model "$work/bigram"
else
    echo "skip terminal (no python3 with pty)"
fi
