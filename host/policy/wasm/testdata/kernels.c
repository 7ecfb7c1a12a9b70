// Kernels for the benchmark of the meter. Built with
//   clang --target=wasm32 -O2 -nostdlib -c kernels.c -o kernels.o
//   wasm-ld --no-entry --export=multiply --export=fib --export=sort --export=fill --export=score --stack-first kernels.o -o kernels.wasm

static unsigned char bytes[1 << 16];
static int numbers[1 << 12];
static double table[9][1 << 12];

// A loop of three instructions.
int multiply(int n) {
  unsigned x = 1;
  for (int i = 0; i < n; i++) x = (x * 2654435761u) ^ i;
  return x;
}

// Calls and nothing else.
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

// Branches in nested loops.
int sort(int n) {
  n &= (1 << 12) - 1;
  unsigned x = 1;
  for (int i = 0; i < n; i++) numbers[i] = (x = x * 1664525u + 1013904223u) >> 4;
  for (int gap = n / 2; gap > 0; gap /= 2)
    for (int i = gap; i < n; i++) {
      int v = numbers[i], j = i;
      for (; j >= gap && numbers[j - gap] > v; j -= gap) numbers[j] = numbers[j - gap];
      numbers[j] = v;
    }
  return numbers[n / 2];
}

// The shortest loop that stores.
int fill(int n) {
  for (int i = 0; i < n; i++) *(volatile unsigned char *)&bytes[i & 0xffff] = i;
  return bytes[7];
}

// Filter and score over columns, what plugins do.
int score(int n) {
  n &= (1 << 12) - 1;
  int kept = 0;
  for (int i = 0; i < n; i++) {
    double *out = &table[8][i];
    double used[4], loss = 0;
    int fits = 1;
    for (int d = 0; d < 4; d++) {
      double cap = table[d][i] + 64 + (i & 7), idle = cap - table[4 + d][i];
      if (idle < (i & 3)) fits = 0;
      used[d] = 1 - idle / cap;
    }
    if (!fits) { *out = 1e9; continue; }
    for (int d = 0; d < 4; d++) loss += used[d] * used[d];
    *out = loss;
    kept++;
  }
  return kept;
}
