"""A backup script that fails on blanks, on failures and on relative paths; several of its faults lose data; one tool."""

from steps import act, agent, bash, replacing, say, shell_task, think

SYSTEM, TOOLS = agent("shell")

TASK = shell_task("""
We back up the office share with snap.sh. On Friday a colleague needed a file back and it was not in any snapshot: `Angebot Müller (neu).odt`.
Looking closer, verify.sh also reports changed files right after a backup, and once, when the target disk was full, the script removed old snapshots
although the new one was not complete. README.md says how it should behave. Please go through both scripts and make them trustworthy:
names with blanks, umlauts, quotes, line ends and leading dashes; relative paths; every failure. Add tests to tests/ (t_*.sh). Bash and coreutils only.
""")

CHECK = (
    "sh tests/run.sh && test $(ls tests/t_*.sh | wc -l) -ge 8 && mkdir -p 'c/a b' d && echo x > 'c/a b/Angebot Müller (neu).odt' && "
    "bash snap.sh c d && test -f d/*/'a b/Angebot Müller (neu).odt' && bash verify.sh d/2*"
)

STEPS = [
    think("Look first.", bash("cat README.md; find . -type f | sort | xargs wc -l")),
    act(bash("cat -n snap.sh")),
    act(bash("cat verify.sh tests/run.sh; head -n 20 tests/t_*.sh")),
    think("Run the tests.", bash('sh tests/run.sh; echo "exit $?"')),
    say(
        "One fails: the manifest lists itself, since `manifest.txt` is created by the redirection before find runs. That is the verify report. Now the lost file: reproduce.",
        bash(
            'mkdir -p s d && cd s && echo x > \'Angebot Müller (neu).odt\' && echo y > plain.txt && touch .snapignore && cd .. && SNAP_NOW=t1 bash snap.sh "$PWD/s" "$PWD/d"; echo "exit $?"; find d -type f'
        ),
    ),
    say(
        "The name is split into three words by the unquoted loop, each copy fails, and the script says `2 copied` and exits with 0... worse than nothing. And with relative paths, as anyone would call it?",
        bash('rm -rf d; mkdir d; SNAP_NOW=t1 bash snap.sh s d; echo "exit $?"; find d s -maxdepth 2 | sort'),
    ),
    say(
        "Relative paths break after the first `cd`. Before I rewrite anything I list what the README promises and try each: .snapignore missing, comments in it, a last line without line end, sub folders in patterns.",
        bash(
            'rm -rf s d; mkdir -p s/sub d; cd s; echo 1 > keep.txt; echo 2 > a.tmp; echo 3 > sub/b.tmp; echo 4 > \'c.log\'; printf \'# *.txt\\n*.tmp\\n*.log\' > .snapignore; cd ..; SNAP_NOW=t1 bash snap.sh "$PWD/s" "$PWD/d"; cat d/t1/manifest.txt; rm s/.snapignore; SNAP_NOW=t2 bash snap.sh "$PWD/s" "$PWD/d" 2>&1 | sort | uniq -c'
        ),
    ),
    say(
        "Findings: `*.log` on a last line without line end is not used (c.log is in the snapshot); a missing .snapignore prints an error per file; comments work by luck, `# *.txt` is a pattern that matches nothing. Now failures. I cannot fill a disk, but a limit "
        "for file sizes makes cp fail the same way.",
        bash(
            'rm -rf s d; mkdir s d; touch s/.snapignore; head -c 200000 /dev/zero > s/big.bin; echo small > s/small.txt; for t in t1 t2; do SNAP_NOW=$t bash snap.sh "$PWD/s" "$PWD/d" 2 > out.txt; done; echo more >> s/big.bin; (ulimit -f 100; SNAP_NOW=t3 bash snap.sh "$PWD/s" "$PWD/d" 2) 2>&1; echo "exit $?"; ls -s d/*; rm out.txt'
        ),
    ),
    say(
        "That is the accident: big.bin could not be copied, a cut piece stayed in t3, the script finished it, removed t1 and exits with 0. By the README: exit 1, and nothing old deleted. What does 'something could not be copied' mean for the new snapshot? "
        "It is then 'not finished', so it must stay `.partial-…`; I think that is the reading that cannot lose data.\n\nOther traps in the code: `newest` is the last of `ls`, whatever lies in the target; `prune` removes any file there, not only snapshots.",
        bash(
            'rm -rf s d; mkdir s d; touch s/.snapignore; echo 1 > s/a; mkdir d/archive_2019 d/zz_manual; echo precious > d/archive_2019/x; for t in 2025-05-01_100000 2025-05-02_100000; do SNAP_NOW=$t bash snap.sh "$PWD/s" "$PWD/d" 2; done; ls d'
        ),
    ),
    say(
        "It deleted archive_2019, a folder of somebody else, and counts zz_manual as the newest snapshot. Only names of the form YYYY-MM-DD_HHMMSS may be touched. I will write the script anew, with the same interface. "
        "Options I need: does this bash have `mapfile -d`, do find and sort have -print0 and -z?",
        bash(
            "bash --version | head -n 1; printf 'b\\0a\\0' | sort -z | tr '\\0' ' '; find . -maxdepth 0 -print0 | od -c | head -n 1; sha256sum --help | grep -E -- '-z|escap'"
        ),
    ),
    think(
        "Manifest format: 'checksum, size and name of every file, ordered by name', one per line. A name with a line end would break lines. sha256sum escapes such names with a backslash in front and \\n. I use printf %q? `%q` gives $'a\\nb', readable by nobody else. "
        "Use sha256sum's way: backslash and newline in names written as \\\\ and \\n. In verify decode with printf %b? %b would interpret other escapes like \\t; but a literal backslash is doubled, so only \\\\ and \\n occur. Good: name=$(printf '%b') strips trailing newlines; use printf -v.",
        bash(
            r"""cat > snap.sh <<'EOF'
#!/bin/bash
# Makes a snapshot of a folder. See README.md.

set -uo pipefail
export LC_ALL=C.UTF-8

STAMP='[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]_[0-9][0-9][0-9][0-9][0-9][0-9]'

usage() {
    echo "usage: snap.sh SOURCE TARGET [KEEP]" >&2
    exit 2
}

log() {
    printf '\033[36m%s\033[0m %s\n' "snap.sh" "$1"
}

fail() {
    printf '\033[31m%s\033[0m %s\n' "snap.sh" "$1" >&2
    exit 1
}

read_ignored() {
    local line
    patterns=()
    [ -e "$source/.snapignore" ] || return 0
    while IFS= read -r line || [ -n "$line" ]; do
        line=${line%%#*}
        line=${line%"${line##*[![:space:]]}"}
        [ -n "$line" ] && patterns+=("$line")
    done < "$source/.snapignore"
}

ignored() {
    local pattern
    for pattern in "${patterns[@]}"; do
        # The pattern is not quoted: it is a pattern.
        case $1 in $pattern) return 0 ;; esac
    done
    return 1
}

# Snapshots in the target, oldest first. Anything else that lies there is none of our business.
snapshots() {
    find "$target" -maxdepth 1 -mindepth 1 -type d -name "$STAMP" -printf '%f\n' | sort
}

copy() {
    local file=$1
    mkdir -p -- "$partial/$(dirname -- "$file")" || return 1
    if [ -n "$newest" ] && cmp -s -- "$source/$file" "$target/$newest/$file"; then
        ln -- "$target/$newest/$file" "$partial/$file" || return 1
        linked=$((linked + 1))
    else
        cp -p -- "$source/$file" "$partial/$file" || return 1
        copied=$((copied + 1))
    fi
}

# Line ends and backslashes in names are written as \n and \\, so that a line stays a line.
escaped() {
    local name=${1//\\/\\\\}
    printf '%s' "${name//$'\n'/\\n}"
}

manifest() {
    local file sum
    find "$partial" -type f -printf '%P\0' | sort -z | while IFS= read -r -d '' file; do
        sum=$(sha256sum < "$partial/$file") || exit 1
        printf '%s %s %s\n' "${sum:0:16}" "$(stat -c %s -- "$partial/$file")" "$(escaped "$file")" || exit 1
    done
}

prune() {
    local old
    snapshots | head -n "-$keep" | while IFS= read -r old; do
        log "removing $old"
        rm -rf -- "${target:?}/$old" || exit 1
    done
}

[ $# -ge 2 ] && [ $# -le 3 ] || usage
keep=${3:-7}
[[ $keep =~ ^[1-9][0-9]*$ ]] || usage
source=$(cd -- "$1" && pwd) || fail "cannot read $1"
target=$(cd -- "$2" && pwd) || fail "cannot read $2"

now=${SNAP_NOW:-$(date +%Y-%m-%d_%H%M%S)}
newest=$(snapshots | tail -n 1)
partial=$target/.partial-$now
[ -e "$target/$now" ] && fail "$target/$now exists"

rm -rf -- "$target"/.partial-*
mkdir -- "$partial" || fail "cannot write to $2"
read_ignored

copied=0
linked=0
missed=0
while IFS= read -r -d '' file; do
    ignored "$file" || copy "$file" || missed=$((missed + 1))
done < <(find "$source" -type f -printf '%P\0')

[ "$missed" = 0 ] || fail "$missed files could not be copied; $partial is not finished, nothing was removed"
lines=$(manifest) || fail "the manifest could not be written; nothing was removed"
printf '%s\n' "$lines" > "$partial/manifest.txt" || fail "the manifest could not be written; nothing was removed"
mv -- "$partial" "$target/$now" || fail "cannot rename $partial"
log "$now: $copied copied, $linked linked"
prune
EOF
sh tests/run.sh"""
        ),
    ),
    say(
        "t_plain passes now. In the old form a source file called manifest.txt would be overwritten by ours; and what if the target lies within the source? find would copy snapshots into snapshots. First the reproductions from above, one by one.",
        bash(
            "rm -rf s d; mkdir -p 's/a b' d; echo x > 's/a b/Angebot Müller (neu).odt'; echo y > s/-rf; echo z > \"s/it's\"; printf 'n' > $'s/two\\nlines'; printf 'b' > 's/back\\slash'; SNAP_NOW=2025-05-01_100000 bash snap.sh s d; echo \"exit $?\"; cat d/2*/manifest.txt; find d -type f | wc -l"
        ),
    ),
    think(
        "All five files and the manifest. Now verify.sh with the same rules.",
        bash(
            r"""cat > verify.sh <<'EOF'
#!/bin/bash
# Compares a snapshot with its manifest: files that changed, are missing, or are not in the manifest.

set -uo pipefail
export LC_ALL=C.UTF-8

if [ $# != 1 ] || [ ! -f "$1/manifest.txt" ]; then
    echo "usage: verify.sh SNAPSHOT" >&2
    exit 2
fi
cd -- "$1" || exit 2

bad=0
declare -A known=()
while read -r sum size name; do
    printf -v file '%b' "$name"
    known[$file]=1
    if [ ! -f "$file" ]; then
        echo "missing: $name"
        bad=1
    elif found=$(sha256sum < "$file"); [ "${found:0:16}" != "$sum" ] || [ "$(stat -c %s -- "$file")" != "$size" ]; then
        echo "changed: $name"
        bad=1
    fi
done < manifest.txt
while IFS= read -r -d '' file; do
    if [ "$file" != manifest.txt ] && [ -z "${known[$file]:-}" ]; then
        echo "not in the manifest: $file"
        bad=1
    fi
done < <(find . -type f -printf '%P\0')
exit $bad
EOF
bash verify.sh d/2*; echo "exit $?"; echo tampered >> 'd/2025-05-01_100000/a b/Angebot Müller (neu).odt'; rm d/2*/-rf; touch d/2*/extra; bash verify.sh d/2*; echo "exit $?"; bash verify.sh; echo "exit $?"; bash verify.sh s; echo "exit $?" """
        ),
    ),
    say(
        "It finds both; the third file was never made, since a glob matches nothing that is not there. One detail: `read -r sum size name` strips blanks at the end of a name, ` ` included. A file called `x ` would be reported missing.",
        bash(
            "rm -rf s d; mkdir s d; touch 's/x ' 's/ y'; SNAP_NOW=2025-05-01_100000 bash snap.sh s d; bash verify.sh d/2*; echo \"exit $?\""
        ),
    ),
    say(
        "As expected. Reading whole lines and cutting at the first two blanks keeps them.",
        replacing(
            "verify.sh",
            (
                "while read -r sum size name; do\n",
                "while IFS= read -r line; do\n    sum=${line%% *}\n    line=${line#* }\n    size=${line%% *}\n    name=${line#* }\n",
            ),
            then='bash verify.sh d/2*; echo "exit $?"',
        ),
    ),
    think(
        "Now the accident with the file size limit.",
        bash(
            'rm -rf s d; mkdir s d; head -c 200000 /dev/zero > s/big.bin; echo small > s/small.txt; for t in 2025-05-01_100000 2025-05-02_100000; do SNAP_NOW=$t bash snap.sh s d 2; done; echo more >> s/big.bin; (ulimit -f 100; SNAP_NOW=2025-05-03_100000 bash snap.sh s d 2) 2>&1; echo "exit $?"; ls -a d; for x in d/2*; do bash verify.sh $x && echo "$x good"; done'
        ),
    ),
    say(
        "Exit 1, the partial one is left, nothing was removed, and both old ones verify. The next good run must remove the partial one:",
        bash('SNAP_NOW=2025-05-03_100000 bash snap.sh s d 2; echo "exit $?"; ls -a d'),
    ),
    say(
        "Now what else lies in the target, and `newest`.",
        bash(
            "rm -rf s d; mkdir s d; echo 1 > s/a; mkdir d/archive_2019 d/zz_manual; touch d/2025-01-01_notes.txt; for t in 1 2 3; do SNAP_NOW=2025-05-0${t}_100000 bash snap.sh s d 2; done; ls d; stat -c '%h %n' d/2*/a"
        ),
    ),
    say(
        "Foreign folders stay, files are linked. Next: target within source. README does not mention it; today it would copy old snapshots into the new one, growing each time. Refusing is the safe answer. The same for source = target. And source within target is harmless? "
        "The source would have to look like a snapshot to be removed; harmless.",
        replacing(
            "snap.sh",
            (
                "\nnow=${SNAP_NOW",
                '\ncase $target/ in\n    "$source"/*) fail "$2 lies within $1" ;;\nesac\n\nnow=${SNAP_NOW',
            ),
            then='mkdir s/inner; bash snap.sh s s/inner; echo "exit $?"; bash snap.sh s s; echo "exit $?"; mkdir -p s2; SNAP_NOW=2025-05-04_100000 bash snap.sh s s2; echo "exit $?"; rm -rf s2',
        ),
    ),
    think(
        "s2 begins with the same letters as s but is not within: fine thanks to the slash. A file named manifest.txt at the top of the source: our manifest overwrites the copy — worse, with a hard link it would write into the older snapshot too! Let me check that.",
        bash(
            "rm -rf s d; mkdir s d; echo 'my own' > s/manifest.txt; SNAP_NOW=2025-05-01_100000 bash snap.sh s d; cat d/2025-05-01_100000/manifest.txt; SNAP_NOW=2025-05-02_100000 bash snap.sh s d; head d/*/manifest.txt; bash verify.sh d/2025-05-01_100000; echo \"exit $?\""
        ),
    ),
    say(
        "Two faults: the user's file is lost, and the manifest lists itself with the checksum of the lost file. README fixes the name manifest.txt in the snapshot, so a file of that name at the top cannot be kept. It has to be a failure that is said aloud rather than a silent loss. "
        "I refuse to start, and name the way out: .snapignore.",
        replacing(
            "snap.sh",
            (
                "\ncopied=0\nlinked=0\nmissed=0\n",
                '\nif [ -e "$source/manifest.txt" ] && ! ignored manifest.txt; then\n    fail "$1/manifest.txt would be replaced by the manifest; rename it or list it in .snapignore"\nfi\n\ncopied=0\nlinked=0\nmissed=0\n',
            ),
            then='rm -rf d; mkdir d; bash snap.sh s d; echo "exit $?"; ls -a d; echo manifest.txt > s/.snapignore; SNAP_NOW=2025-05-01_100000 bash snap.sh s d; cat d/2*/manifest.txt',
        ),
    ),
    think(
        "It leaves an empty .partial behind; the next run removes it. Fine, though mkdir could come later. What about links and empty folders in the source? find -type f leaves symbolic links out, silently. README: 'copies a folder'. 'every file'. The old one left them out too. "
        "Let me see what is in play: a symlink to a file is probably expected in a backup. I do not want to extend; but silence is bad. I will count them in the log line? I mention it in the summary instead. Hmm, trustworthy... a colleague might miss a link. Report it: 'N links and special files were left out'.",
        replacing(
            "snap.sh",
            (
                'log "$now: $copied copied, $linked linked"\n',
                'log "$now: $copied copied, $linked linked"\nothers=$(find "$source" ! -type f ! -type d -printf x | wc -c)\n[ "$others" = 0 ] || log "$others links and special files were left out"\n',
            ),
            then='ln -s nowhere s/link; SNAP_NOW=2025-05-02_100000 bash snap.sh s d; echo "exit $?"',
        ),
    ),
    say(
        "Unreadable parts of the source: find fails for a folder it cannot enter, and its exit code is lost in `< <(…)`. As root I cannot make a folder unreadable, but a `find` that fails can be put in front.",
        bash(
            'mkdir -p bin; printf \'#!/bin/bash\\n/usr/bin/find "$@"\\ncase "$*" in */s\\ -type\\ f*) exit 1 ;; esac\\n\' > bin/find; chmod +x bin/find; rm -rf d; mkdir d; PATH=$PWD/bin:$PATH SNAP_NOW=2025-05-01_100000 bash snap.sh s d; echo "exit $?"; ls -A d'
        ),
    ),
    say(
        "The failure goes unnoticed, so a folder without permission would be missing from every snapshot. `wait $!` gives the exit code of the process substitution. The manifest's pipeline is covered by pipefail.",
        replacing(
            "snap.sh",
            (
                'done < <(find "$source" -type f -printf \'%P\\0\')\n\n[ "$missed"',
                'done < <(find "$source" -type f -printf \'%P\\0\')\nwait $! || fail "parts of $1 could not be read; $partial is not finished, nothing was removed"\n\n[ "$missed"',
            ),
            then='rm -rf d; mkdir d; PATH=$PWD/bin:$PATH SNAP_NOW=2025-05-01_100000 bash snap.sh s d; echo "exit $?"; ls -A d; SNAP_NOW=2025-05-01_100000 bash snap.sh s d; echo "exit $?"; rm -r bin',
        ),
    ),
]
