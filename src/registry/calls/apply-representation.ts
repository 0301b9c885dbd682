import { encodeDocument } from '../../api/codec/document.ts'
import { yamlText } from '../../api/codec/yaml-writer.ts'
import { statusSchema } from '../../api/schema/shared.ts'
import type { VerbResponse, VerbRequest } from './verb.ts'
import { defaultColumns } from '../kinds/columns.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import { parseBytes, parsedJson } from '../kinds/encode.ts'
import type { VerbDependencies } from './verb-dependencies.ts'
import { STORED_FORM, formOf, isStoredForm } from '../representations/representation.ts'
import { tableOfOne } from '../representations/table.ts'

/**
 * Converts one object or `Status` to the representation that the client requested. Lists and
 * watches are produced in that form directly.
 */
export function applyRepresentation(
  dependencies: VerbDependencies,
  request: VerbRequest,
  answer: VerbResponse,
): VerbResponse {
  const { representation = STORED_FORM } = request
  if (answer.kind !== 'document') return answer
  if (representation.as !== 'partial') request.context.answered?.(answer.bytes, answer.isStatus === true)
  if (isStoredForm(representation)) return answer
  const { bytes } = answer
  if (answer.isStatus === true) {
    if (representation.encoding === 'json') return answer
    return { ...answer, bytes: encodeDocument(representation.encoding, statusSchema, parsedJson(bytes)) }
  }
  const definition = representedKind(request)
  if (representation.as === 'table') {
    const table = tableOfOne(definition, representation.shape, bytes, dependencies.clock.wallMs())
    if (representation.encoding === 'json') return { ...answer, bytes: table }
    return { ...answer, bytes: Buffer.from(yamlText(parsedJson(table))) }
  }
  const { schema, shown } = formOf(definition, representation, dependencies.schemas.of(definition))
  return { ...answer, bytes: encodeDocument(representation.encoding, schema, shown(parseBytes(bytes))) }
}

/** Returns the kind of the response, which may differ from the kind of the path. */
function representedKind({ definition, target }: VerbRequest): ResourceDefinition {
  if (target.subresource === null) return definition
  const found = definition.subresources.find(({ name }) => name === target.subresource)
  if (found?.body === undefined) return definition
  const isBody = found.view !== undefined || found.returnsBody === true
  return isBody ? { ...definition, columns: defaultColumns, ...found.body } : definition
}
