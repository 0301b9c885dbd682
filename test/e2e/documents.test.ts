/*
 * Goal: the commands of the documents produce the documented results.
 * Method: a copy of the sources and of what was built of them in an empty directory with an empty
 * home, and one shell that runs every block of commands unchanged, in order. Of the variables that
 * the documents name, only PORT is set.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative, sep } from 'node:path'
import { test } from 'node:test'
import { blocksOf, readDocument, root } from '../tidy/markdown.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { freePortRange } from '../../fixtures/port-range.ts'
import { markVariable } from '../../fixtures/port-range.ts'

const documents = ['README.md', 'docs/getting-started.md']
/** Made by commands of the documents. */
const clusters = ['.cluster', 'restored']
const leftOut = new Set(['.build', '.cluster', '.git', 'node_modules'])
/** Less than the time limit of a test file, so that what the shell printed is shown. */
const shellMsMax = 380_000

void test('every block of commands of the documents works as it stands', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'orch-documents-'))
  const [checkout, bin] = [join(home, 'checkout'), join(home, 'bin')]
  t.after(() => {
    // Only the program that started members knows their processes.
    const orchctl = join(checkout, 'dist/bundle/src/cli/main.js')
    for (const dir of clusters) {
      const down = ['cluster', 'down', '--force', '--timeout', '10', '--dir', join(checkout, dir)]
      spawnSync(process.execPath, [orchctl, ...down])
    }
    rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  })
  const isCopied = (path: string): boolean => !leftOut.has(relative(root, path).split(sep)[0] ?? '')
  cpSync(root, checkout, { recursive: true, preserveTimestamps: true, filter: isCopied })
  bringPackages(checkout)
  mkdirSync(bin)
  const kubectl = Kubectl.find().program
  if (kubectl.includes(sep)) symlinkSync(kubectl, join(bin, 'kubectl'))
  const blocks = documents.flatMap((path) => blocksOf(readDocument(path), 'sh'))
  assert.ok(blocks.length >= 10, `${blocks.length} blocks`)
  const { status, stdout, stderr } = spawnSync('bash', ['-eux'], {
    cwd: checkout,
    encoding: 'utf8',
    timeout: shellMsMax,
    input: blocks.join('\n'),
    env: {
      ...{ HOME: home, TERM: 'dumb', LANG: 'C', [markVariable]: process.env[markVariable] },
      PATH: [bin, process.env['PATH'] ?? ''].join(delimiter),
      PORT: String(await freePortRange(6)),
    },
  })
  assert.equal(status, 0, `${stdout}\n${stderr}`)
  const [promised = ''] = blocksOf(readDocument('README.md'), 'text').slice(-1)
  const [heading = '', ...rows] = promised.trimEnd().split('\n').map(shape)
  const printed = stdout.split('\n').map(shape)
  assert.ok(printed.includes(heading), `${heading}\n${stdout}`)
  for (const row of rows) assert.ok(printed.includes(row), `${row}\n${stdout}`)
  assert.match(stdout, /3 member\(s\) ready/)
  assert.match(stdout, /greeting +1 /)
})

/**
 * Provides node_modules by hard links where the file system has them: behind a symbolic link the
 * compiler does not recognize the files of the last build, and checks everything again.
 */
function bringPackages(checkout: string): void {
  const from = join(root, 'node_modules')
  const to = join(checkout, 'node_modules')
  if (spawnSync('cp', ['-al', from, to]).status === 0) return
  rmSync(to, { recursive: true, force: true })
  symlinkSync(from, to)
}

/** A line of a table without the parts that differ between runs: leader, terms and ages. */
function shape(line: string): string {
  return line
    .replace(/\b(true|false)\b/g, 'yes-or-no')
    .replace(/\b\d+m?\d*s\b/g, 'age')
    .replace(/ +\d+ +\d+ +/, ' numbers ')
    .replace(/ +/g, ' ')
}
