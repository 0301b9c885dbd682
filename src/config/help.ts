import { featureGateLines } from './feature-gates.ts'
import { durationText, sizeText } from './flag.ts'
import { flags } from './flags.ts'
import { flagNames } from './load.ts'

/** Returns the output of `orch-apiserver --help`. */
export function helpText(): string {
  const lines = [
    'orch-apiserver: one member of a replicated API server.',
    '',
    '  orch-apiserver --data-dir ./data           a single member; creates its own keys and admin.kubeconfig',
    '  orch-apiserver --config n1.yaml            a member of a cluster, see cluster-config/',
    '  orch-apiserver --join 10.0.0.1:6443 …      an additional member, as orchctl member add prints it',
    '  orch-apiserver --in-memory                 keeps nothing, for tests',
    '',
    'Flags (in a --config file: the same names without the dashes). The last one of a repeated flag wins, except that',
    'lists (values that commas separate) and oidc-required-claim add up: --join A --join B is --join A,B.',
    '',
  ]
  for (const name of flagNames) {
    const { placeholder, help, fallback } = flags[name]
    const shown = fallbackText(name, fallback)
    lines.push(`  --${name}${placeholder === '' ? '' : ` ${placeholder}`}`)
    lines.push(`        ${help}${shown === '' ? '' : ` (default ${shown})`}`)
  }
  lines.push('', 'Feature gates:', ...featureGateLines())
  lines.push(
    '',
    'Exit codes: 0 stopped, 1 could not start or go on, or was stopped by a second signal, 2 a flag or file is wrong,',
    '3 removed from its cluster (starting it again does not help), 70 a broken invariant (a bug).',
  )
  return `${lines.join('\n')}\n`
}

/** Returns the default as it would be typed; empty without a default. */
export function fallbackText(name: string, fallback: unknown): string {
  if (typeof fallback === 'number') {
    const { placeholder } = flags[name as keyof typeof flags]
    if (placeholder === 'size') return sizeText(fallback)
    return placeholder === 'duration' ? durationText(fallback) : String(fallback)
  }
  if (Array.isArray(fallback)) return fallback.join(',')
  // The help of structured flags describes their defaults.
  return typeof fallback === 'string' || typeof fallback === 'boolean' ? String(fallback) : ''
}
