// Nodes whose number is the job's first, in C: the work of the policy nodenumber
// of a peer, for the comparison with it. README.md says how they correspond.
#define POISE_NAME "nodenumber"
#define POISE_VERSION "1.0.0"
#define POISE_ROW_PURE
#define POISE_LABELS(L) L(number, "number")
#define POISE_PARAMS(P) P(number, symbol, )
#include "poise.h"

POISE_SCORE(c, loss) {
	const poise_symbol *number = c->number;
	const uint32_t rows = c->rows, wanted = c->param.number.id;

	for (uint32_t r = 0; r < rows; r++)
		loss[r] = 10 * (number[r].id != wanted);
}
