import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cli } from '../src/cli/cli.ts'
import { prepareCluster } from '../src/cli/local-cluster.ts'
import type { Terminal } from '../src/cli/terminal.ts'
import { RealClock } from '../src/host/clock.ts'
import { RealRandom } from '../src/host/random.ts'
import { fixedCredentials } from '../src/credentials/credentials.ts'
import type { Endpoint } from '../src/credentials/endpoint.ts'
import { freePortRange } from '../fixtures/port-range.ts'

const nodes = 3

export const terminal: Terminal = {
  print: (line) => console.log(line),
  note: (line) => console.error(line),
  ...{ clock: new RealClock(), random: new RealRandom(), program: 'orchctl' },
}

/**
 * Three durable members on this machine, created by `orchctl cluster up`, with a bearer token in
 * addition to client certificates.
 */
export class OwnCluster {
  readonly #directory: string
  readonly endpoints: readonly Endpoint[]
  /** Flags for `orchctl bench`. */
  readonly flags: readonly string[]

  private constructor(directory: string, ports: readonly number[], token: string) {
    this.#directory = directory
    this.endpoints = endpointsOf(directory, ports, token)
    const requested = this.endpoints.flatMap(({ url }) => ['--endpoint', url])
    const files = ['--ca', authorityFile(directory), '--token-file', tokenFile(directory)]
    this.flags = [...requested, ...files, '--dir', directory]
  }

  /**
   * @param directory is removed first. Not under /tmp, which may be a RAM disk
   * @param how `leaseReads`: enables lease reads, which are off in a new cluster
   */
  static async up(directory: string, how = { leaseReads: true }): Promise<OwnCluster> {
    rmSync(directory, { recursive: true, force: true })
    const first = await freePortRange(2 * nodes)
    const ports = { clientPort: first, peerPort: first + nodes }
    const { members } = prepareCluster(terminal, { directory, nodes, domain: null, ...ports })
    const configPaths = members.map(({ configPath }) => configPath)
    const token = addTokens(directory, configPaths)
    const code = await cli(['cluster', 'up', '--dir', directory], { ...terminal, print: terminal.note })
    if (code !== 0) throw new Error('the cluster did not start')
    if (how.leaseReads) {
      const kubeconfig = ['--kubeconfig', join(directory, 'admin.kubeconfig')]
      const printing = { ...terminal, print: terminal.note }
      await cli(['settings', 'set', '--lease-reads', 'on', ...kubeconfig], printing)
    }
    return new OwnCluster(
      directory,
      members.map(({ clientPort }) => clientPort),
      token,
    )
  }

  /** Stops the cluster and removes its directory. */
  async down(): Promise<void> {
    await takeDown(this.#directory)
  }
}

/** Removes an existing cluster, including a partial one. */
export async function takeDown(directory: string): Promise<void> {
  if (!existsSync(directory)) return
  await cli(['cluster', 'down', '--dir', directory, '--force'], { ...terminal, print: terminal.note })
  rmSync(directory, { recursive: true, force: true })
}

/**
 * Creates a bearer token of an administrator, and adds it to the configuration of members that do
 * not run.
 *
 * @returns the token
 */
export function addTokens(directory: string, configPaths: readonly string[]): string {
  const tokens = join(directory, 'tokens.csv')
  const token = Buffer.from(terminal.random.bytes(16)).toString('hex')
  writeFileSync(tokens, `${token},bench,bench,"system:masters"\n`, { mode: 0o600 })
  writeFileSync(tokenFile(directory), token, { mode: 0o600 })
  for (const path of configPaths) appendFileSync(path, `token-auth-file: ${JSON.stringify(tokens)}\n`)
  return token
}

/** @param ports the client port of each member, in the order of their names */
export function endpointsOf(directory: string, ports: readonly number[], token: string): readonly Endpoint[] {
  const authority = readFileSync(authorityFile(directory), 'utf8')
  return ports.map((port, at) => ({
    ...{ name: `n${at + 1}`, url: `https://127.0.0.1:${port}`, authority },
    ...{ serverName: null, insecure: false, credentials: fixedCredentials({ token }) },
  }))
}

function authorityFile(directory: string): string {
  return join(directory, 'pki', 'ca.crt')
}

function tokenFile(directory: string): string {
  return join(directory, 'token')
}
