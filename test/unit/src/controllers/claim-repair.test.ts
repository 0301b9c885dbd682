/*
 * Goal: the claims of Services are those of the values that Services have, whatever an older
 * version of the program stored; what cannot be repaired is reported.
 * Method: the shipped controllers of a member that begins to lead over states that this version
 * does not write.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember, textMember, textsMember } from '../../../../src/api/json.ts'
import type { ControllerName } from '../../../../src/config/controllers-flag.ts'
import { claimRepair } from '../../../../src/controllers/claim-repair.ts'
import { ClaimedServices, claimedServiceOf } from '../../../../src/controllers/claimed-services.ts'
import type { ClaimedService } from '../../../../src/controllers/claimed-services.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { SealedObjectError } from '../../../../src/registry/shared/sealed-object-error.ts'
import { claimOperation, claimsPrefix, claimUid } from '../../../../src/registry/writing/claims.ts'
import { serviceClaims } from '../../../../src/resources/services/service-claims.ts'
import { addressAt, serviceRanges } from '../../../../src/resources/services/service-ranges.ts'
import type { ServiceRanges } from '../../../../src/resources/services/service-ranges.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { dualStackRanges } from '../../../../fixtures/service-ranges.ts'
import { lead, rest } from '../app/leading-member.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import {
  claimsOf,
  keyOfClaim,
  keyOfService,
  storedPort,
  storeOlder,
  writeRaw,
} from '../resources/services/stored-services.ts'

const kind = 'Service'
const enabled: readonly ControllerName[] = [
  'ipallocator-repair-controller',
  'portallocator-repair-controller',
]

type Begin = {
  readonly prepare: (api: Fixture) => Promise<void>
  readonly ranges?: ServiceRanges
  readonly enabled?: readonly ControllerName[]
}

/** Begins to lead over a prepared state. */
async function led(t: TestContext, of: Begin): Promise<Fixture> {
  const api = await lead(t, { domain: 'k8s.io', enabled, ...of })
  await rest(api)
  return api
}

/** Returns the events about Services, as `NAME REASON MESSAGE`, sorted. */
async function eventsOf(api: Fixture): Promise<readonly string[]> {
  const { items } = await api.list({ kind: 'v1/Event', namespace: 'default' })
  return items
    .map((event) => [
      textMember(objectMember(event, 'involvedObject'), 'name'),
      textMember(event, 'reason'),
      textMember(event, 'message'),
    ])
    .map((parts) => parts.join(' '))
    .sort()
}

/** Returns the claims without that of the Service of the API server. */
function claimsIn(api: Fixture, { addresses: [range] } = dualStackRanges): readonly string[] {
  const first = range === undefined ? '' : addressAt(range, 0)
  return claimsOf(api).filter((value) => value !== first)
}

function ownerOf(api: Fixture, set: string, value: string): string | undefined {
  return api.store.view().get(keyOfClaim(set, value))?.uid
}

function uidOf(api: Fixture, name: string): string {
  return claimUid({ uid: api.store.view().get(keyOfService(name))?.uid ?? '' })
}

/** Lets time pass, so that the next Service is younger. */
function later(api: Fixture): void {
  api.clock.advance(2000)
}

void test('values that a Service of an older version has are claimed when a member begins to lead', async (t) => {
  const api = await led(t, {
    prepare: (older) =>
      storeOlder(older, 'old', {
        ...{ type: 'LoadBalancer', clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7', 'fd00::7'] },
        ...{ externalTrafficPolicy: 'Local', healthCheckNodePort: 30_002 },
        ports: [{ ...storedPort, nodePort: 30_001 }],
      }),
  })
  for (const [set, value] of [
    ['ipv4', '10.0.0.7'],
    ['ipv6', 'fd00::7'],
    ['nodeport', '30001'],
    ['nodeport', '30002'],
  ] as const)
    assert.equal(ownerOf(api, set, value), uidOf(api, 'old'), value)
  assert.deepEqual(await eventsOf(api), [
    'old ClusterIPNotAllocated Cluster IP [IPv4]:10.0.0.7 is not allocated; repairing',
    'old ClusterIPNotAllocated Cluster IP [IPv6]:fd00::7 is not allocated; repairing',
    'old PortNotAllocated Port 30001 is not allocated; repairing',
    'old PortNotAllocated Port 30002 is not allocated; repairing',
  ])
  const { items } = await api.list({ kind: 'v1/Event', namespace: 'default' })
  const components = items.map((event) => textMember(objectMember(event, 'source'), 'component'))
  assert.deepEqual([...new Set(components)].sort(), enabled)
  const body = { metadata: { name: 'new' }, spec: { clusterIP: '10.0.0.7', ports: [{ port: 80 }] } }
  assert.match((await refused(api.create({ kind, body }))).message, /provided IP is already allocated/)
  await api.delete({ kind, name: 'old' })
  assert.deepEqual(claimsIn(api), [])
})

void test('each controller repairs its own values, and a disabled one repairs none', async (t) => {
  const prepare = (api: Fixture): Promise<void> =>
    storeOlder(api, 'old', {
      ...{ type: 'NodePort', clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'] },
      ports: [{ ...storedPort, nodePort: 30_001 }],
    })
  for (const [names, claims] of [
    [['ipallocator-repair-controller'], ['10.0.0.7']],
    [['portallocator-repair-controller'], ['30001']],
    [[], []],
  ] as const) {
    assert.deepEqual(claimsIn(await led(t, { prepare, enabled: names })), claims)
  }
})

void test('a claim whose Service is gone, or does not have the value, is released', async (t) => {
  const api = await led(t, {
    prepare: async (older) => {
      const body = { metadata: { name: 'kept' }, spec: { clusterIP: '10.0.0.9', ports: [{ port: 80 }] } }
      const { metadata } = (await older.create({ kind, body })).object
      const gone = { name: 'gone', namespace: 'default', uid: 'gone' }
      // Another Service has the name of the one that is gone.
      const replaced = { ...metadata, uid: 'replaced' }
      await writeRaw(older, [
        claimOperation(keyOfClaim('ipv4', '10.0.0.7'), gone),
        claimOperation(keyOfClaim('ipv6', 'fd00::7'), replaced),
        claimOperation(keyOfClaim('nodeport', '30001'), metadata),
      ])
    },
  })
  assert.deepEqual(claimsIn(api), ['10.0.0.9'])
  assert.deepEqual(await eventsOf(api), [])
})

void test('a claim of a gone Service goes to the Service that has the value', async (t) => {
  const api = await led(t, {
    prepare: async (older) => {
      await storeOlder(older, 'old', { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'] })
      const gone = { name: 'gone', namespace: 'default', uid: 'gone' }
      await writeRaw(older, [claimOperation(keyOfClaim('ipv4', '10.0.0.7'), gone)])
    },
  })
  assert.equal(ownerOf(api, 'ipv4', '10.0.0.7'), uidOf(api, 'old'))
})

void test('an address of two Services belongs to the older one, then to the other, which is reported', async (t) => {
  const spec = { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'] }
  const api = await led(t, {
    prepare: async (older) => {
      await storeOlder(older, 'z-first', spec)
      later(older)
      await storeOlder(older, 'a-second', spec)
    },
  })
  const shared =
    'a-second ClusterIPAlreadyAllocated Cluster IP [IPv4]:10.0.0.7 was assigned to multiple services; ' +
    'please recreate service'
  const restored = 'ClusterIPNotAllocated Cluster IP [IPv4]:10.0.0.7 is not allocated; repairing'
  assert.equal(ownerOf(api, 'ipv4', '10.0.0.7'), uidOf(api, 'z-first'))
  assert.deepEqual(await eventsOf(api), [shared, `z-first ${restored}`])
  await api.delete({ kind, name: 'z-first' })
  await rest(api)
  assert.equal(ownerOf(api, 'ipv4', '10.0.0.7'), uidOf(api, 'a-second'))
  assert.deepEqual(await eventsOf(api), [shared, `a-second ${restored}`, `z-first ${restored}`])
  await api.delete({ kind, name: 'a-second' })
  assert.deepEqual(claimsIn(api), [])
})

void test('a port of two Services is reported as upstream does', async (t) => {
  const spec = { type: 'NodePort', ports: [{ ...storedPort, nodePort: 30_001 }] }
  const api = await led(t, {
    prepare: async (older) => {
      await storeOlder(older, 'first', spec)
      later(older)
      await storeOlder(older, 'second', spec)
    },
  })
  const words = 'Port 30001 was assigned to multiple services; please recreate service'
  assert.ok((await eventsOf(api)).includes(`second PortAlreadyAllocated ${words}`))
})

void test('values outside of changed ranges stay claimed, and are reported once', async (t) => {
  const prepare = async (older: Fixture): Promise<void> => {
    const spec = { ipFamilyPolicy: 'RequireDualStack', type: 'NodePort' }
    const named = {
      clusterIPs: ['10.96.0.2', 'fd00::2'],
      ports: [{ port: 80, nodePort: 30_001 }],
    }
    await storeOlder(older, 'web', { ...spec, clusterIP: '10.96.0.2', ...named })
    const body = { metadata: { labels: { touched: 'true' } } }
    await older.patch({ kind, name: 'web', body })
  }
  const ranges = serviceRanges(['10.97.0.0/24'], '31000-31100')
  const api = await led(t, { prepare, ranges })
  const expected = [
    'web ClusterIPNotValid Cluster IP fd00::2(IPv6) is of ip family that is no longer configured on cluster; please recreate service',
    'web ClusterIPOutOfRange Cluster IP [IPv4]:10.96.0.2 is not within the service CIDR 10.97.0.0/24; please recreate service',
    'web PortOutOfRange Port 30001 is not within the port range 31000-31100; please recreate service',
  ]
  assert.deepEqual(await eventsOf(api), expected)
  assert.deepEqual(claimsIn(api, ranges), ['10.96.0.2', '30001', 'fd00::2'])
  await api.patch({ kind, name: 'web', body: { metadata: { labels: { touched: 'again' } } } })
  const { revision } = api.store.view()
  await rest(api)
  assert.equal(api.store.view().revision, revision, 'nothing is reported again')
  const { object } = await api.get({ kind, name: 'web' })
  assert.deepEqual(textsMember(objectMember(object, 'spec'), 'clusterIPs'), ['10.96.0.2', 'fd00::2'])
})

void test('where the claims are right nothing is written, whatever happens to Services', async (t) => {
  const api = await led(t, { prepare: async () => undefined })
  const body = { metadata: { name: 'web' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } }
  for (const act of [
    () => api.create({ kind, body }),
    () => api.patch({ kind, name: 'web', body: { spec: { type: 'ClusterIP' } } }),
    () => api.delete({ kind, name: 'web' }),
  ]) {
    await act()
    const { revision } = api.store.view()
    await rest(api)
    assert.equal(api.store.view().revision, revision)
  }
})

void test('the claim of a Service that cannot be decrypted is kept', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const name of ['sealed', 'open'])
    await api.create({ kind, body: { metadata: { name }, spec: { ports: [{ port: 80 }] } } })
  const before = claimsOf(api)
  const { store, clock } = api
  const rules = serviceClaims(dualStackRanges)
  const services = new Informer<ClaimedService>({
    ...{ store, clock, prefix: prefixOf({ group: '', plural: 'services', namespace: null }) },
    parse: (stored) => {
      if (stored.key === keyOfService('sealed')) throw new SealedObjectError('no key')
      return claimedServiceOf(rules, stored)
    },
  })
  const claims = new Informer({ store, clock, prefix: claimsPrefix(rules), parse: ({ uid }) => uid })
  const errors: unknown[] = []
  const counts = { restored: 0, released: 0 }
  const controller = claimRepair({
    ...{ clock, store, ranges: dualStackRanges, sets: ['ipv4', 'ipv6'], counts, timeoutMs: 1000 },
    claimed: new ClaimedServices(services, claims),
    events: { record: () => true },
    onReleased: () => undefined,
    onError: (_, cause) => void errors.push(cause),
  })
  services.start()
  claims.start()
  controller.start()
  t.after(() => {
    controller.stop()
    services.close()
    claims.close()
  })
  await rest(api)
  assert.deepEqual([claimsOf(api), counts, errors], [before, { restored: 0, released: 0 }, []])
  assert.equal(before.length, 2)
})
