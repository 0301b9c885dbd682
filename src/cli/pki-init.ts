import { isIP } from 'node:net'
import { join } from 'node:path'
import { ensureClusterPki } from '../pki/cluster-pki.ts'
import type { PkiMember } from '../pki/cluster-pki.ts'
import { CliError } from './errors.ts'
import type { Format, Terminal } from './terminal.ts'

const clientPort = 6443

/** Creates the missing keys of a cluster and prints them; verifies the existing ones. */
export function pkiInit(
  terminal: Terminal,
  options: { readonly dir: string; readonly members: readonly PkiMember[]; readonly format: Format },
): void {
  const { clock, random } = terminal
  const kubeconfigPath = join(options.dir, 'admin.kubeconfig')
  const { members } = options
  const report = ensureClusterPki({ directory: options.dir, kubeconfigPath, members, clock, random })
  if (options.format === 'json') return terminal.print(JSON.stringify(report, null, 2))
  for (const path of report.made) terminal.print(`made  ${path}`)
  terminal.print(
    report.made.length === 0
      ? `all ${report.kept.length} files exist and match`
      : `${report.made.length} made, ${report.kept.length} kept`,
  )
}

/**
 * Parses `n1=10.0.0.1+one.example:6443,n2=…`: name, hosts for clients (the first one goes into the
 * kubeconfig), and client port, 6443 by default.
 *
 * @throws CliError `usage`
 */
export function parsePkiMembers(text: string): readonly PkiMember[] {
  const members = text.split(',').map(parseMember)
  const names = new Set(members.map(({ name }) => name))
  if (names.size !== members.length) throw new CliError('usage', '--members lists a name twice')
  return members
}

function parseMember(text: string): PkiMember {
  const [, name, hostText = '', portText] = /^([^=]+)=(.+?)(?::(\d{1,5}))?$/.exec(text.trim()) ?? []
  const hosts = hostText.split('+').map((host) => host.replace(/^\[(.*)\]$/, '$1'))
  const [first] = hosts
  const isSensible = hosts.every((host) => isIP(host) !== 0 || /^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(host))
  const port = portText === undefined ? clientPort : Number(portText)
  if (name === undefined || first === undefined || !isSensible || port < 1 || port > 65_535) {
    throw new CliError('usage', `--members must be NAME=HOST[+HOST…][:PORT], not "${text}"`)
  }
  const host = isIP(first) === 6 ? `[${first}]` : first
  return { name, hosts, serverUrl: `https://${host}:${port}` }
}
