import { Registry as MetricsRegistry } from 'prom-client'
import { namesOf } from '../../src/api/names.ts'
import { Authenticator } from '../../src/auth/authenticate.ts'
import { authorizerFor } from '../../src/auth/authorize.ts'
import { bootstrapPolicy } from '../../src/auth/bootstrap-policy.ts'
import { clientCertificates } from '../../src/auth/client-certificate.ts'
import { staticRules } from '../../src/auth/static-rules.ts'
import { TrustStore } from '../../src/auth/trust-store.ts'
import { tokenFile } from '../../src/auth/token-file.ts'
import { memberHealth, defaultHealthBounds } from '../../src/cluster/health.ts'
import { IssueFailure } from '../../src/cluster/join-desk.ts'
import { Members } from '../../src/cluster/members.ts'
import { limits } from '../../src/config/limits.ts'
import { createAuthority, issueCertificate } from '../../src/pki/authority.ts'
import type { Authority } from '../../src/pki/authority.ts'
import { generateKeyPair, privateKeyPem } from '../../src/pki/keys.ts'
import { readTrustBundle } from '../../src/pki/trust-bundle.ts'
import { createServer } from '../../src/server/server.ts'
import type { ApiServer } from '../../src/server/server.ts'
import type { ServerParts } from '../../src/server/parts.ts'
import type { Registry } from '../../src/registry/answer.ts'
import { StoreFailure } from '../../src/store/errors.ts'
import { initialSettings } from '../../src/store/machine/state.ts'
import { FakeConsensus } from './fake-consensus.ts'
import { TOKENS } from './real-registry.ts'
import { freshRandom, systemClock } from './system.ts'
import type { ServerLimits } from '../../src/server/server-limits.ts'

/** A bearer of everything, and one of nothing but what everybody may. */
export const ADMIN = { authorization: 'Bearer admin-token' }
export const NOBODY = { authorization: 'Bearer nobody-token' }

/** A server of real parts around the given registry. */
export async function serverAround(
  registry: Registry,
  { trust: given, ...change }: Partial<ServerParts> & { readonly trust?: TrustStore } = {},
): Promise<{ readonly server: ApiServer; readonly parts: ServerParts; readonly consensus: FakeConsensus }> {
  const names = namesOf('k8s.io')
  const authorities = change.tls?.clientAuthorities ?? null
  const client = authorities === null ? null : readTrustBundle(authorities)
  const trust = given ?? new TrustStore({ client, 'front-proxy': null })
  const consensus = new FakeConsensus(systemClock)
  const health = memberHealth({
    consensus,
    clock: systemClock,
    // A made-up status says nothing new: however slow the machine is, that must not be the reason for a red test.
    bounds: { ...defaultHealthBounds, quorumContactMsMax: 3_600_000 },
    silentThread: () => null,
  })
  const parts: ServerParts = {
    registry,
    served: registry.catalog,
    authenticator: new Authenticator({
      methods: [clientCertificates(systemClock, trust), tokenFile(TOKENS, 'tokens.csv')],
      allowAnonymous: true,
    }),
    authorizer: authorizerFor(['RBAC'], staticRules(bootstrapPolicy(names))),
    health,
    members: new Members({
      ...{ consensus, health },
      state: () => ({ index: 0, digest: '0'.repeat(32), featureLevel: 1, quarantine: null }),
    }),
    memberName: 'n1',
    joinDesk: noMembership,
    memberDesk: noMembership,
    stateRepair: noMembership,
    store: noStore,
    states: { open: () => Promise.reject(new StoreFailure('stopped', 'this server has no state')) },
    openapi: {
      v2: async () => ({ bytes: Buffer.from('{"swagger":"2.0"}'), etag: '"v2"' }),
      v2Protobuf: async () => ({ bytes: Buffer.from([1, 2, 3]), etag: '"v2p"' }),
      v3: {
        index: async () => ({ bytes: Buffer.from('{"paths":{}}'), etag: '"v3"' }),
        document: (path) =>
          path === 'api/v1' ? { bytes: Buffer.from('{"openapi":"3.0.0"}'), etag: '"a"' } : null,
      },
    },
    names,
    version: {
      program: '0.0.0',
      gitCommit: 'abc',
      buildDate: '2026-01-01T00:00:00Z',
      runtime: process.version,
      platform: 'linux/x64',
    },
    clock: systemClock,
    random: freshRandom(),
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    metrics: new MetricsRegistry(),
    tls: null,
    protocols: 'http2-and-http1',
    limits: serverLimits,
    crash: (broken) => {
      throw broken
    },
    ...change,
  }
  return { server: await createServer(parts), parts, consensus }
}

export const serverLimits: ServerLimits = {
  requestsReadingMax: limits.requestsReadingMax,
  requestsWritingMax: limits.requestsWritingMax,
  watchesMax: limits.watchesMax,
  requestMsMax: limits.requestMsMax,
  requestBytesMax: limits.requestBytesMax,
  uploadsMax: limits.uploadsMax,
  uploadGraceMs: limits.uploadGraceMs,
  bodyMemoryBytesMax: 256 * 1024 * 1024,
  outgoingBytesMax: 128 * 1024 * 1024,
}

/** For tests of all that is not about who belongs to the cluster. */
const noMembership = {
  decide: () => Promise.reject(new IssueFailure('unready', 'this server repairs nobody')),
  issue: () => Promise.reject(new IssueFailure('unready', 'this server takes in nobody')),
  join: () => Promise.reject(new IssueFailure('unready', 'this server takes in nobody')),
  change: () => Promise.reject(new IssueFailure('unready', 'this server has no members')),
}

/** For tests of all that is not about settings. */
const noStore: ServerParts['store'] = {
  settings: initialSettings,
  featureLevel: 1,
  storage: { usedBytes: 0, bytesMax: null, alarm: false, largest: () => [], largestPlaces: () => [] },
  barrier: () => Promise.resolve(),
  write: () => Promise.resolve({ kind: 'nothing' }),
}

export type Identity = { readonly cert: string; readonly key: string }

/** An authority of the test's own, and who it vouches for. */
export class TestAuthority {
  readonly #authority: Authority
  readonly pem: string

  constructor(commonName = 'test-ca') {
    this.#authority = createAuthority({ commonName, random: freshRandom(), ...validity() })
    this.pem = this.#authority.certificatePem
  }

  server(): Identity {
    return this.#issue('server', 'localhost', [])
  }

  client(name: string, groups: readonly string[]): Identity {
    return this.#issue('client', name, groups)
  }

  #issue(usage: 'server' | 'client', commonName: string, organizations: readonly string[]): Identity {
    const keys = generateKeyPair()
    const request = {
      ...validity(),
      subject: { commonName, organizations },
      names: { dns: usage === 'server' ? ['localhost'] : [], ips: [], uris: [] },
      usages: [usage],
      publicKey: keys.publicKey,
    }
    const cert = issueCertificate(this.#authority, request, freshRandom())
    return { cert, key: privateKeyPem(keys.privateKey) }
  }
}

function validity(): { readonly notBeforeMs: number; readonly notAfterMs: number } {
  const now = Date.now()
  return { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 }
}
