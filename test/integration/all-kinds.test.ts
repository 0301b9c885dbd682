/**
 * Goal: no field of an object that a client sends is lost or changed, in any kind and any encoding
 * of writes and reads.
 * Method: for every kind that clients write, objects with every field set (generated from the
 * declaration: `support/generators/full-object.ts`) go through all verbs and representations over
 * HTTP, and watches return all of them at the end. `make test` does so in one domain,
 * `long/variants` in both. `support/fixtures/stored-object.ts` lists what the server itself adds. A
 * field that no object set fails the test, unless `neverSet` lists it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { isStored } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { FullObjects, variantsOf } from '../support/generators/full-object.ts'
import { ephemeralContainers } from '../support/generators/full-pod-hints.ts'
import { KindClient } from '../support/drivers/kind-client.ts'
import { nameOf } from '../support/fixtures/kind-path.ts'
import { ObjectLife } from '../support/runs/object-lifecycle.ts'
import { FieldCoverage } from '../support/runs/field-coverage.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import { createOperatedPod } from '../support/fixtures/subresource-target.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const seed = Number(process.env['SEED'] ?? 1)

const forbidden = ['ports', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle', 'volumeDevices']
/**
 * Fields that no client of this test can set: only leaders write the status of Members, no Member
 * here can be replaced, the deprecated fields of events belong to the beta version, and the server
 * drops alpha fields.
 */
const neverSet = [
  ...['cluster.v1.MemberSpec.replaces', 'cluster.v1.MemberStatus.', 'cluster.v1.MemberCondition.'],
  ...['FirstTimestamp', 'LastTimestamp', 'Count'].map((name) => `events.v1.Event.deprecated${name}`),
  'apps.v1.RollingUpdateStatefulSetStrategy.maxUnavailable',
  'batch.v1.CronJobSpec.timeZone',
  'core.v1.TopologySpreadConstraint.minDomains',
  'core.v1.Probe.terminationGracePeriodSeconds',
  'autoscaling.v2.MetricSpec.containerResource',
  // `insecureSkipTLSVerify` must not be set together with `caBundle`.
  'apiregistration.v1.APIServiceSpec.insecureSkipTLSVerify',
  'autoscaling.v2.ContainerResourceMetricSource.',
  'autoscaling.v2beta1.MetricSpec.containerResource',
  'autoscaling.v2beta1.ContainerResourceMetricSource.',
  'policy.v1beta1.PodSecurityPolicySpec.allowedProcMountTypes',
  'apps.v1.StatefulSetSpec.persistentVolumeClaimRetentionPolicy',
  // Each of these excludes another field: `maxUnavailable`, and the `number` of the port.
  'policy.v1.PodDisruptionBudgetSpec.minAvailable',
  'networking.v1.ServiceBackendPort.name',
  ...forbidden.map((name) => `core.v1.EphemeralContainer.${name}`),
  // A schema with these is refused; with a conversion webhook the other version could not be
  // requested.
  ...[
    'id',
    '$ref',
    '$schema',
    'uniqueItems',
    'patternProperties',
    'dependencies',
    'additionalItems',
    'definitions',
  ].map((name) => `apiextensions.v1.JSONSchemaProps.${name}`),
  ...['JSONSchemaPropsOr', 'CustomResourceConversion.webhook', 'CustomResourceDefinitionSpec.preserve'].map(
    (name) => `apiextensions.v1.${name}`,
  ),
]

for (const domain of someDomains) {
  void test(`spec 2, 9.4: nothing is lost of an object of any kind of ${domain}`, async (t) => {
    const api = await SpecServer.start(t, { domain })
    const names = namesOf(domain)
    const maker = new FullObjects(names, seed)
    const given = new FieldCoverage()
    // Clients cannot write an observed kind.
    const sendable = definitionsFor(names).filter(({ observe }) => observe === undefined)
    for (const definition of sendable) {
      const { kind, version } = definition
      await t.test(`${kind} ${version}`, async () => {
        const client = new KindClient(api, names, definition)
        try {
          if (isStored(definition)) await runAllVerbs(client, maker, given)
          else if (definition.review !== undefined) await reviewAll(client, maker, given)
          else await operateAll(client, maker, given)
        } catch (cause) {
          throw new Error(`SEED=${seed} node --test dist/test/integration/all-kinds.test.js repeats this`, {
            cause,
          })
        }
      })
    }
    const missing = sendable
      .flatMap(({ schema }) => given.missing(schema))
      .filter((field) => !neverSet.some((prefix) => field.startsWith(prefix)))
    assert.deepEqual(missing, [], 'fields that no object sets: add a hint for them')
  })
}

async function runAllVerbs(client: KindClient, maker: FullObjects, given: FieldCoverage): Promise<void> {
  const { definition } = client
  for (let variant = 0; variant < variantsOf(definition); variant++) {
    const sent = maker.object(definition, variant)
    given.note(definition.schema, sent)
    const life = new ObjectLife(client, nameOf(sent), variant)
    const from = await client.revision()
    await life.create(sent)
    if (variant > 0) {
      await life.end()
      continue
    }
    await life.update()
    await life.patch()
    await life.listed()
    const full = maker.object(definition, 0)
    for (const { name, body } of subresources) {
      if (!definition.subresources.some((one) => one.name === name)) continue
      const requested = body(life.current, full, maker)
      given.note(definition.schema, requested)
      await life.updatePart(name, requested)
    }
    await life.end()
    await life.watchAgain(from)
  }
}

type Subresource = {
  readonly name: string
  /** The whole object, of which the subresource takes its part. */
  readonly body: (current: JsonObject, full: JsonObject, maker: FullObjects) => JsonObject
}

/** The subresources, in the order in which they can be set. */
const subresources: readonly Subresource[] = [
  {
    name: 'ephemeralcontainers',
    body: (current, _, maker) => {
      const spec = objectMember(current, 'spec')
      const target = textMember(objectsMember(spec, 'containers')[0] ?? {}, 'name')
      return { ...current, spec: { ...spec, ephemeralContainers: ephemeralContainers(maker, target) } }
    },
  },
  {
    name: 'approval',
    body: (current, full) => {
      const [condition] = objectsMember(objectMember(full, 'status'), 'conditions')
      return { ...current, status: { conditions: [{ ...condition, type: 'Approved' }] } }
    },
  },
  {
    name: 'status',
    body: (current, full) => {
      const status = objectMember(full, 'status')
      const decided = objectsMember(objectMember(current, 'status'), 'conditions')
      const conditions = [...decided, ...objectsMember(status, 'conditions')]
      return { ...current, status: conditions.length === 0 ? status : { ...status, conditions } }
    },
  },
]

/** Sends the operation on a Pod, which is answered with a `Status`. */
async function operateAll(client: KindClient, maker: FullObjects, given: FieldCoverage): Promise<void> {
  const { api, definition, collection, encodings } = client
  for (const [turn, encoding] of encodings.entries()) {
    const path = await createOperatedPod(api)
    const sent = maker.object(definition, turn)
    given.note(definition.schema, sent)
    const accept = client.mediaType(encodings[(turn + 1) % encodings.length] ?? 'json')
    const body = client.written(encoding, sent)
    const type = client.mediaType(encoding)
    const reply = await api.ask('POST', collection, { body, type, headers: { accept } })
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [201, accept], reply.text)
    const { doc } = await api.ask('GET', path)
    const target = objectMember(sent, 'target')
    assert.equal(objectMember(doc as JsonObject, 'spec')['nodeName'], target['name'], encoding)
    await api.ask('DELETE', `${path}?gracePeriodSeconds=0`)
    assert.equal((await api.ask('GET', path)).status, 404)
  }
}

/** Sends the review, which is not stored: the response contains the request and its result. */
async function reviewAll(client: KindClient, maker: FullObjects, given: FieldCoverage): Promise<void> {
  const { definition, collection, encodings } = client
  // A review within a namespace may only ask about resources: the other variants are refused.
  const count = definition.scope === 'Namespaced' ? 1 : variantsOf(definition)
  for (let variant = 0; variant < count; variant++) {
    const sent = maker.object(definition, variant)
    given.note(definition.schema, sent)
    for (const [turn, body] of encodings.entries()) {
      const accept = encodings[(turn + 1) % encodings.length] ?? 'json'
      const got = await client.send('POST', collection, sent, { body, accept, code: 201 })
      assert.deepEqual(
        [got['apiVersion'], got['kind'], got['spec']],
        [sent['apiVersion'], sent['kind'], sent['spec']],
      )
      assert.notDeepEqual(got['status'], sent['status'])
      assert.ok(Object.keys(objectMember(got, 'status')).length > 0)
    }
  }
}
