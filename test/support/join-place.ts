import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { joinTokens } from '../../src/membership/join-authentication.ts'
import { StoredJoinRecords } from '../../src/membership/stored-join-records.ts'
import { memberKeys } from '../../src/pki/member-keys.ts'
import type { NodeId } from '../../raft/index.ts'
import { Authenticator } from '../../src/auth/authenticate.ts'
import { TrustStore } from '../../src/auth/trust-store.ts'
import { readTrustBundle } from '../../src/pki/trust-bundle.ts'
import { clientCertificates } from '../../src/auth/client-certificate.ts'
import { JoinService } from '../../src/membership/join-service.ts'
import type { JoinServiceParts } from '../../src/membership/join-service.ts'
import { MemberAdmin } from '../../src/membership/member-admin.ts'
import { Members } from '../../src/membership/members.ts'
import { loadConfig } from '../../src/config/load.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../src/pki/cluster-pki.ts'
import { featureLevelMax } from '../../src/version.ts'
import { FakeConsensus } from '../../fixtures/fake-consensus.ts'
import { FakeRegistry } from './fake-registry.ts'
import { PlannedMembers, tokenIn } from './join-service-kit.ts'
import { openMemoryStore } from '../../fixtures/memory-store.ts'
import { serverAround } from '../../fixtures/server-fixture.ts'
import { freshRandom, systemClock } from '../../fixtures/system.ts'

export const forEver = Number.MAX_SAFE_INTEGER
export const seat = {
  name: 'n4',
  role: 'voter',
  peerAddress: '127.0.0.1:7446',
  clientAddress: '127.0.0.1:6446',
} as const

/** A cluster that takes in members, as one member of it serves it, and what a process needs to join it. */
export type Place = {
  readonly folder: string
  readonly address: string
  readonly members: PlannedMembers
  /** Who leads. */
  readonly consensus: FakeConsensus
  readonly service: JoinService
  /** Of an administrator. */
  readonly kubeconfig: string
  /** ms by which the cluster's wall clock is ahead. */
  readonly time: { aheadMs: number }
  /** The flags of the process that joins, each as it should be. */
  readonly flags: (token: string) => Record<string, string>
  readonly token: () => Promise<string>
}

export function keysIn(folder: string, name: string, members: readonly string[]): string {
  const directory = join(folder, name)
  const url = 'https://127.0.0.1:6443'
  writeKeys(
    directory,
    join(directory, 'admin.kubeconfig'),
    members.map((member) => [member, url]),
  )
  return directory
}

function writeKeys(
  directory: string,
  kubeconfigPath: string,
  members: readonly (readonly [name: string, serverUrl: string])[],
): void {
  ensureClusterPki({
    ...{ directory, kubeconfigPath, clock: systemClock, random: freshRandom() },
    members: members.map(([name, serverUrl]) => ({ name, hosts: ['127.0.0.1'], serverUrl })),
  })
}

export async function place(t: TestContext, change: Partial<JoinServiceParts> = {}): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'orch-join-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const pki = keysIn(folder, 'pki', ['n1', 'n4', 'n5'])
  const paths = clusterPkiPaths(pki)
  const read = (path: string): string => readFileSync(path, 'utf8')
  const memory = await openMemoryStore()
  t.after(() => memory.close())
  const time = { aheadMs: 0 }
  const clock = { ...systemClock, wallMs: () => Date.now() + time.aheadMs }
  const members = new PlannedMembers(['n1', 'n2', 'n3'])
  const keys = memberKeys(
    {
      config: configOf({ ...pkiFlags(pki, 'n1'), name: 'n1', 'data-dir': folder }),
      clock,
      random: freshRandom(),
    },
    folder,
    'among-others',
  )
  const service = new JoinService({
    records: new StoredJoinRecords({ store: memory.store, clock, random: freshRandom() }),
    consensus: members,
    configuration: () => members.configuration,
    applied: () => members.applied,
    cluster: () => ({
      ...{
        clusterName: 'orch',
        life: 'ab12',
        apiDomain: 'orch.io',
        clusterId: '00'.repeat(16),
        featureLevel: featureLevelMax,
      },
      fingerprints: keys.fingerprints,
    }),
    authority: () => keys.fingerprints['client-ca'] ?? null,
    ...{ hasPeerPort: true, levelMin: 1, version: '1.0.0', clock, random: freshRandom() },
    ...change,
  })
  const consensus = new FakeConsensus(systemClock)
  const status = {
    get status() {
      return { ...consensus.status, configuration: members.configuration, followers: members.followers }
    },
    transferLeadership: (to: NodeId) => consensus.transferLeadership(to),
    changeMembers: members.changeMembers.bind(members),
  }
  const client = readTrustBundle(read(paths.ca.certificate))
  const trust = new TrustStore({ client, 'front-proxy': null })
  const { server } = await serverAround(new FakeRegistry().registry, {
    joinService: service,
    memberAdmin: new MemberAdmin({ consensus: members, configuration: () => members.configuration }),
    members: new Members({
      consensus: status,
      health: { livez: [], readyz: [], shutDown: () => undefined, close: () => undefined },
      state: () => ({ index: 0, digest: null, featureLevel: featureLevelMax, quarantine: null }),
    }),
    authenticator: new Authenticator({
      methods: [clientCertificates(systemClock, trust), joinTokens(service, systemClock)],
      allowAnonymous: false,
    }),
    tls: {
      certificate: read(paths.server('n1').certificate),
      key: read(paths.server('n1').key),
      clientAuthorities: read(paths.ca.certificate),
    },
  })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.drain({ shutdownDelayMs: 0, graceMs: 0 }))
  const address = `127.0.0.1:${port}`
  const kubeconfig = join(folder, 'admin.kubeconfig')
  writeKeys(pki, kubeconfig, [['n1', `https://${address}`]])
  return {
    ...{ folder, address, members, consensus, service, time, kubeconfig },
    flags: (token) => ({
      ...pkiFlags(pki, 'n4'),
      name: 'n4',
      'data-dir': join(folder, 'data'),
      'peer-address': seat.peerAddress,
      'advertise-address': seat.clientAddress,
      join: address,
      'join-token': token,
    }),
    token: async () => tokenIn(await service.issue({ ...seat, replaces: null }, forEver)),
  }
}

export function pkiFlags(pki: string, name: string): Record<string, string> {
  const paths = clusterPkiPaths(pki)
  return {
    'tls-cert-file': paths.server(name).certificate,
    'tls-private-key-file': paths.server(name).key,
    'client-ca-file': paths.ca.certificate,
    'peer-ca-file': paths.peerCa.certificate,
    'peer-cert-file': paths.peer(name).certificate,
    'peer-key-file': paths.peer(name).key,
  }
}

export function configOf(flags: Record<string, string>) {
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
  const loaded = loadConfig({ args, readFile: (path) => readFileSync(path, 'utf8') })
  assert.equal(loaded.kind, 'config')
  return loaded.config
}

/** What a process with this cluster's keys says of them. */
export function fingerprintsFor(kubeconfig: string): Readonly<Record<string, string>> {
  const folder = dirname(kubeconfig)
  const config = configOf({ ...pkiFlags(join(folder, 'pki'), 'n4'), name: 'n4', 'data-dir': folder })
  const parts = { config, clock: systemClock, random: freshRandom() }
  return memberKeys(parts, folder, 'among-others').fingerprints
}
