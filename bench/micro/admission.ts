/*
 * Measures what admission plugins that have nothing to do cost a create: the CPU of creating
 * ConfigMaps with the default plugins, and with only five of them (`fewPlugins`).
 *
 *   node dist/bench/micro/admission.js [--pairs 200] [--writes 60]
 *
 * Batches alternate, so that other load of the machine affects both equally. Each figure is the
 * lowest of the batches, because other load only adds to it.
 */
import { parseArgs } from 'node:util'
import { DEFAULT_ADMISSION_PLUGINS } from '../../src/config/admission-plugins-flag.ts'
import type { AdmissionPluginName } from '../../src/config/admission-plugins-flag.ts'
import type { Registry } from '../../src/registry/calls/verb.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { systemClock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({
  options: { pairs: { type: 'string', default: '200' }, writes: { type: 'string', default: '60' } },
})
const pairs = Number(options.pairs)
const writes = Number(options.writes)

const fewPlugins: readonly AdmissionPluginName[] = [
  ...(['NamespaceLifecycle', 'ServiceAccount', 'StorageObjectInUseProtection'] as const),
  ...(['CertificateApproval', 'CertificateSigning'] as const),
]
const value = 'v'.repeat(900)
const NEVER = new AbortController().signal

const few = await realRegistry('k8s.io', { plugins: fewPlugins })
const all = await realRegistry('k8s.io', { plugins: DEFAULT_ADMISSION_PLUGINS })
const figures: { readonly few: number; readonly all: number }[] = []
for (let pair = -20; pair < pairs; pair++) {
  const isEven = pair % 2 === 0
  const first = await measure(isEven ? few.registry : all.registry, pair)
  const second = await measure(isEven ? all.registry : few.registry, pair)
  // The first pairs warm up.
  if (pair >= 0) figures.push(isEven ? { few: first, all: second } : { few: second, all: first })
}
const lowest = (of: 'few' | 'all'): number => Math.min(...figures.map((one) => one[of]))
const spell = (us: number): string => `${us.toFixed(1)} us`
console.log(`CPU of creating a ConfigMap of 1 KB, node ${process.version}, ${pairs} pairs of ${writes}`)
console.log(`  ${fewPlugins.length} plugins   ${spell(lowest('few'))}`)
console.log(`  ${DEFAULT_ADMISSION_PLUGINS.length} plugins  ${spell(lowest('all'))}`)
console.log(`  ratio       ${(lowest('all') / lowest('few')).toFixed(4)}`)
await few.close()
await all.close()

/** Returns the CPU time of one write in microseconds. */
async function measure(registry: Registry, pair: number): Promise<number> {
  const definition = registry.catalog.find('', 'v1', 'configmaps')
  if (definition === null) throw new Error('the catalog has no ConfigMaps')
  const from = process.cpuUsage()
  for (let at = 0; at < writes; at++) {
    const object = { metadata: { name: `p${pair}-${at}` }, data: { k: value } }
    await registry.create({
      definition,
      context: {
        user: { name: 'bench', uid: '', groups: ['system:masters'], extra: {} },
        userAgent: 'bench',
        deadlineMs: systemClock.monotonicMs() + 60_000,
        signal: NEVER,
        warn: () => undefined,
      },
      target: { namespace: 'default', name: null, subresource: null },
      query: new Map(),
      body: Buffer.from(JSON.stringify(object)),
      contentType: 'application/json',
    })
  }
  const { user, system } = process.cpuUsage(from)
  return (user + system) / writes
}
