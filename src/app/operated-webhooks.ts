import { badRequest } from '../api/errors/standard-errors.ts'
import type { ConversionWebhooks } from '../conversion/conversion-webhooks.ts'
import { conversionOfDefinition, describeConversions } from '../conversion/describe-conversions.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { OperatedWebhooks } from '../server/routes/webhooks.ts'
import type { AdmissionWebhooks } from './admission-webhooks.ts'

export type OperatedWebhooksDependencies = {
  readonly admission: Pick<AdmissionWebhooks, 'describe' | 'change'>
  readonly conversion: Pick<ConversionWebhooks, 'summary'>
  readonly catalog: Pick<Catalog, 'all'>
}

/** The webhooks of this member, as operators see and suspend them. */
export function operatedWebhooks({
  admission,
  conversion,
  catalog,
}: OperatedWebhooksDependencies): OperatedWebhooks {
  return {
    describe: () => [
      ...admission.describe(),
      ...describeConversions(catalog.all(), (webhook) => conversion.summary(webhook)),
    ],
    change: async (context, change) => {
      const { configuration, type } = change
      const isConversion = conversionOfDefinition(catalog.all(), configuration) !== null
      if (type === null && isConversion) throw badRequest(unsuspendable(configuration))
      await admission.change(context, change)
    },
  }
}

function unsuspendable(definition: string): string {
  return (
    `the conversion webhook of ${definition} cannot be suspended: without it, objects are not served in ` +
    'the versions that it converts to; correct spec.conversion of the CustomResourceDefinition, or read ' +
    'and write the stored version'
  )
}
