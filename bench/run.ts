/*
 * `make bench`: a durable cluster of three on this machine, all that `orchctl bench` measures, and the page; then the cluster
 * goes. Arguments are those of `orchctl bench`; the results stay in .build/bench.
 */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { cli } from '../src/cli/cli.ts'
import { prepareCluster } from '../src/cli/local-cluster.ts'
import type { Terminal } from '../src/cli/terminal.ts'
import { RealClock } from '../src/host/clock.ts'
import { RealRandom } from '../src/host/random.ts'
import { freePortRange } from '../test/support/port-range.ts'

const nodes = 3
// Not under /tmp, which may be memory: an acknowledged write is on a disk.
const results = resolve('.build/bench')
const directory = join(results, 'cluster')

const terminal: Terminal = {
  print: (line) => console.log(line),
  note: (line) => console.error(line),
  ...{ clock: new RealClock(), random: new RealRandom(), program: 'orchctl' },
}

/** Founded with a token beside the certificates, as most clients have one. @returns how to ask it */
async function cluster(): Promise<readonly string[]> {
  const first = await freePortRange(2 * nodes)
  const ports = { clientPort: first, peerPort: first + nodes }
  const { members } = prepareCluster(terminal, { directory, nodes, domain: null, ...ports })
  const [tokens, token] = [join(directory, 'tokens.csv'), join(directory, 'token')]
  const secret = Buffer.from(terminal.random.bytes(16)).toString('hex')
  writeFileSync(tokens, `${secret},bench,bench,"system:masters"\n`, { mode: 0o600 })
  writeFileSync(token, secret, { mode: 0o600 })
  for (const { configPath } of members)
    appendFileSync(configPath, `token-auth-file: ${JSON.stringify(tokens)}\n`)
  const code = await cli(['cluster', 'up', '--dir', directory], { ...terminal, print: terminal.note })
  if (code !== 0) throw new Error('the cluster did not start')
  // Off unless an operator says otherwise; here it is one of the modes that are compared.
  const settings = [
    'settings',
    'set',
    '--lease-reads',
    'on',
    '--kubeconfig',
    join(directory, 'admin.kubeconfig'),
  ]
  await cli(settings, { ...terminal, print: terminal.note })
  const endpoints = members.flatMap(({ clientPort }) => ['--endpoint', `https://127.0.0.1:${clientPort}`])
  return [...endpoints, '--ca', join(directory, 'pki', 'ca.crt'), '--token-file', token, '--dir', directory]
}

mkdirSync(results, { recursive: true })
rmSync(directory, { recursive: true, force: true })
try {
  const files = ['--json', join(results, 'results.json'), '--html', join(results, 'results.html')]
  const how = [...(await cluster()), ...files, '-o', 'markdown', ...process.argv.slice(2)]
  const lines: string[] = []
  const print = (line: string): void => {
    lines.push(line)
    console.log(line)
  }
  process.exitCode = await cli(['bench', ...how], { ...terminal, print })
  writeFileSync(join(results, 'results.md'), `${lines.join('\n')}\n`)
  console.error(`results.json, results.html and results.md are in ${results}`)
} finally {
  await cli(['cluster', 'down', '--dir', directory, '--force'], { ...terminal, print: terminal.note })
  rmSync(directory, { recursive: true, force: true })
}
