import type { TestContext } from 'node:test'
import { namesOf } from '../../src/api/names.ts'
import type { Registry } from '../../src/registry/calls/answer.ts'
import type { Store } from '../../src/store/store.ts'
import type { Endpoint } from '../../tools/verify/endpoint.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { ADMIN, TestAuthority, serverAround } from '../../fixtures/server-fixture.ts'
import { systemClock } from '../../fixtures/system.ts'

/** The shipped server and verbs over a machine in memory, as an endpoint. @param change breaks the verbs @param isTls speaks HTTP/2, too */
export async function verifiedServer(
  t: TestContext,
  change: (registry: Registry, store: Store) => Registry = (registry) => registry,
  isTls = false,
): Promise<Endpoint> {
  const domain = 'k8s.io'
  const { registry, store, close } = await realRegistry(domain)
  // So that reads by a lease are asked for too.
  const settings = { ...store.settings, leaseReads: 1 }
  await store.write({ kind: 'change-settings', settings }, systemClock.monotonicMs() + 10_000)
  const trusted = isTls ? new TestAuthority() : null
  const identity = trusted?.server() ?? null
  const { server } = await serverAround(change(registry, store), {
    ...{ store, names: namesOf(domain) },
    ...(trusted === null || identity === null
      ? {}
      : { tls: { certificate: identity.cert, key: identity.key, clientAuthorities: trusted.pem } }),
  })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(async () => {
    await server.drain({ shutdownDelayMs: 0, graceMs: 0 })
    await close()
  })
  return {
    ...{ name: 'n1', url: isTls ? `https://localhost:${port}` : `http://127.0.0.1:${port}` },
    ...{ authority: trusted?.pem ?? null, certificate: null, key: null },
    ...{ token: ADMIN.authorization.replace('Bearer ', ''), insecure: false },
  }
}
