import { forbidden } from '../api/errors/standard-errors.ts'
import { objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AdmissionPlugin } from './chain.ts'

export type CertificateSubjectDependencies = {
  readonly names: Names
  /** Returns the organizations that a request in base64 asks for; null: it is not readable. */
  readonly organizationsIn: (request: string) => readonly string[] | null
}

const ADMINISTRATORS = 'system:masters'

/**
 * Refuses requests for client certificates of the group that may do everything.
 *
 * @source upstream `plugin/pkg/admission/certificates/subjectrestriction`
 */
export function certificateSubjectRestriction(dependencies: CertificateSubjectDependencies): AdmissionPlugin {
  const { names, organizationsIn } = dependencies
  const group = names.group('certificates')
  const signer = names.signers.apiserverClient
  return {
    name: 'CertificateSubjectRestriction',
    validate: ({ definition, target, operation, object }) => {
      if (object === null || operation !== 'CREATE' || target.subresource !== null) return
      if (definition.group !== group || definition.plural !== 'certificatesigningrequests') return
      const spec = objectMember(object, 'spec')
      if (textMember(spec, 'signerName') !== signer) return
      if (organizationsIn(textMember(spec, 'request'))?.includes(ADMINISTRATORS) !== true) return
      const why = `use of ${signer} signer with ${ADMINISTRATORS} group is not allowed`
      throw forbidden(resourceOf(definition), object.metadata.name ?? '', why)
    },
  }
}
