/* Which documents are generated, and from what. */
import { format } from 'prettier'
import { configurationReference, orchctlReference } from './reference-command-line.ts'
import { metricsReference } from './reference-metrics.ts'

export const references: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/reference/configuration.md': configurationReference,
  'docs/reference/metrics.md': metricsReference,
  'docs/reference/orchctl.md': orchctlReference,
}

/** Returns the document as it is kept in the repository: wrapped, with aligned tables. */
export async function referenceText(make: () => string | Promise<string>): Promise<string> {
  return format(await make(), { parser: 'markdown', proseWrap: 'always', printWidth: 100 })
}
