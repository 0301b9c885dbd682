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
    const authority = join(directory, 'pki', 'ca.crt')
    this.endpoints = ports.map((port, at) => ({
      ...{ name: `n${at + 1}`, url: `https://127.0.0.1:${port}`, authority: readFileSync(authority, 'utf8') },
      ...{ serverName: null, insecure: false, credentials: fixedCredentials({ token }) },
    }))
    const requested = this.endpoints.flatMap(({ url }) => ['--endpoint', url])
    this.flags = [...requested, '--ca', authority, '--token-file', tokenFile(directory), '--dir', directory]
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
    const tokens = join(directory, 'tokens.csv')
    const secret = Buffer.from(terminal.random.bytes(16)).toString('hex')
    writeFileSync(tokens, `${secret},bench,bench,"system:masters"\n`, { mode: 0o600 })
    writeFileSync(tokenFile(directory), secret, { mode: 0o600 })
    for (const { configPath } of members)
      appendFileSync(configPath, `token-auth-file: ${JSON.stringify(tokens)}\n`)
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
      secret,
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

function tokenFile(directory: string): string {
  return join(directory, 'token')
}
